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
}

/// What a problem with `use` lists.
pub(super) const KNOWN: &str = "langchain_openai:ChatOpenAI, langchain_anthropic:ChatAnthropic, \
     langchain_aws:ChatBedrockConverse, langchain_deepseek:ChatDeepSeek, langchain_ollama:ChatOllama, \
     langchain_google_genai:ChatGoogleGenerativeAI, the adapters of deerflow.models, or pudu:Scripted";

/// Gemini and Ollama are spoken with through the chat completions that both offer: one dialect more would be one more to keep
/// true, for models that lose nothing by it.
const GEMINI: &str = "https://generativelanguage.googleapis.com/v1beta/openai";
const OLLAMA: &str = "http://localhost:11434/v1";
const DEEPSEEK: &str = "https://api.deepseek.com";

/// Reads `module:Class`; none if nobody here speaks so.
pub(super) fn client(text: &str) -> Option<Client> {
    let (module, class) = text.split_once(':').unwrap_or((text, ""));
    let at = |provider, base_url| Some(Client { provider, base_url, path: None });
    match module {
        "langchain_openai" | "langchain_openrouter" => at(Provider::OpenAi, None),
        "langchain_deepseek" => at(Provider::OpenAi, Some(DEEPSEEK)),
        // Its entries name the host alone; chat completions are below this.
        "langchain_ollama" => {
            Some(Client { provider: Provider::OpenAi, base_url: Some(OLLAMA), path: Some("/v1") })
        }
        "langchain_google_genai" => at(Provider::OpenAi, Some(GEMINI)),
        "langchain_anthropic" => at(Provider::Anthropic, None),
        "langchain_aws" if class != "ChatBedrockAnthropic" => at(Provider::Bedrock, None),
        "pudu" if class == "Scripted" => at(Provider::Scripted, None),
        _ => match module.strip_prefix("deerflow.models.")? {
            "claude_provider" => at(Provider::Anthropic, None),
            "patched_deepseek" => at(Provider::OpenAi, Some(DEEPSEEK)),
            // Speaks the responses API only.
            "openai_codex_provider" => None,
            _ => at(Provider::OpenAi, None),
        },
    }
}
