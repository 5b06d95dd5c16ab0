//! `use`: the class of the reference's client that an entry names, as the way in which this house speaks with its provider.

/// How a model is spoken with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Chat completions as `OpenAI` has them.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Amazon Bedrock's Converse.
    Bedrock,
    /// The built-in script, which calls nobody.
    Scripted,
}

/// What `use` stands for.
pub(super) struct Client {
    pub(super) provider: Provider,
    /// Where it is when the entry does not say.
    pub(super) base_url: Option<&'static str>,
    /// The path that its own client adds to an address without one.
    pub(super) path: Option<&'static str>,
    /// In which key an entry has to say where it is, because its own key would go to somebody else.
    pub(super) address_key: Option<&'static str>,
}

/// The client of one's own resource there, whose entries say it in words of their own.
const AZURE: &str = "AzureChatOpenAI";
/// Its word for the address.
pub(super) const AZURE_ENDPOINT: &str = "azure_endpoint";

const GEMINI: &str = "https://generativelanguage.googleapis.com/v1beta/openai";
const OLLAMA: &str = "http://localhost:11434/v1";
const DEEPSEEK: &str = "https://api.deepseek.com";

/// Clients of chat completions elsewhere, and where. Gemini and Ollama are among them, because both offer that too: one dialect
/// more would be one more to keep true, for models that lose nothing by it.
const ELSEWHERE: &[(&str, &str)] = &[
    ("langchain_deepseek", DEEPSEEK),
    ("deerflow.models.patched_deepseek", DEEPSEEK),
    ("langchain_google_genai", GEMINI),
    ("langchain_ollama", OLLAMA),
    ("langchain_openrouter", "https://openrouter.ai/api/v1"),
    ("langchain_groq", "https://api.groq.com/openai/v1"),
    ("langchain_mistralai", "https://api.mistral.ai/v1"),
    ("langchain_xai", "https://api.x.ai/v1"),
    ("langchain_cerebras", "https://api.cerebras.ai/v1"),
];

/// Reads `module:Class`; none if nobody here speaks so.
pub(super) fn client(text: &str) -> Option<Client> {
    let (module, class) = text.split_once(':').unwrap_or((text, ""));
    let of = |provider| Client { provider, base_url: None, path: None, address_key: None };
    if let Some((_, address)) = ELSEWHERE.iter().find(|(name, _)| *name == module) {
        // The entries of Ollama name the host alone; chat completions are below this.
        let path = (*address == OLLAMA).then_some("/v1");
        return Some(Client { base_url: Some(address), path, ..of(Provider::OpenAi) });
    }
    match module {
        "langchain_openai" => {
            Some(Client { address_key: (class == AZURE).then_some(AZURE_ENDPOINT), ..of(Provider::OpenAi) })
        }
        "langchain_anthropic" => Some(of(Provider::Anthropic)),
        "langchain_aws" if class != "ChatBedrockAnthropic" => Some(of(Provider::Bedrock)),
        "pudu" if class == "Scripted" => Some(of(Provider::Scripted)),
        _ => match module.strip_prefix("deerflow.models.")? {
            "claude_provider" => Some(of(Provider::Anthropic)),
            // Speaks the responses API only.
            "openai_codex_provider" => None,
            // OpenAI's own client, to whatever address.
            "patched_openai" => Some(of(Provider::OpenAi)),
            _ => Some(Client { address_key: Some("base_url"), ..of(Provider::OpenAi) }),
        },
    }
}

/// What a problem with `use` lists, in the few words that fit into one.
pub(super) fn known() -> String {
    let elsewhere: Vec<&str> =
        ELSEWHERE.iter().filter_map(|(name, _)| name.strip_prefix("langchain_")).collect();
    format!(
        "langchain_X:… with X one of openai, anthropic, aws, {}; an adapter of deerflow.models; or pudu:Scripted",
        elsewhere.join(", ")
    )
}
