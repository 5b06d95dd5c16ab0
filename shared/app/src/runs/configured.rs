//! The options of a run as its caller writes them: `config`, `context` and the assistant's name, made one (agent reference 2.3).

use std::collections::BTreeMap;

use pudu_domain::ThreadId;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

/// The assistant that is no custom agent.
pub const LEAD: &str = "lead_agent";
/// Super-steps of a run, unless it is said otherwise.
const RECURSION_LIMIT: u32 = 100;
/// Most that may be asked for.
const MAX_RECURSION_LIMIT: u32 = 1000;
/// What only this house says of a run; what begins with the last is more of it.
const OURS: [&str; 6] =
    ["is_internal", "authz_attributes", "channel_user_id", "non_interactive", "user_id", "run_id"];
const OURS_TOO: &str = "langgraph_auth_user";
/// Where its caller's secrets are.
const SECRETS: &str = "secrets";
/// Where the custom agent is named.
const AGENT: &str = "agent_name";
/// Most secrets of one call or run.
pub const MAX_SECRETS: usize = 64;
/// Most bytes of a secret, and of its name.
pub const SECRET_BYTES: usize = 8 * 1024;
/// Most bytes of all secrets of a run with their names: sealed they stand in one row.
const SECRETS_BYTES: usize = 128 * 1024;
/// Most characters of an assistant's name.
pub const ASSISTANT_CHARS: usize = 128;

/// A run's options, settled.
#[derive(Debug, Clone, Default)]
pub struct Configured {
    /// `context`, where there was one.
    pub context: Option<Map<String, Value>>,
    /// `configurable`.
    pub configurable: Map<String, Value>,
    /// Most super-steps.
    pub recursion_limit: u32,
    /// What of them is secret: it is in neither.
    pub secrets: BTreeMap<String, SecretString>,
}

/// Options that cannot be taken. It never repeats a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Not an object.
    #[error("{0} must be an object")]
    NoObject(&'static str),
    /// The name of an assistant that can be no agent's.
    #[error(
        "assistant_id must be lead_agent, or the name of an agent: at most {ASSISTANT_CHARS} letters, digits and hyphens"
    )]
    Assistant,
    /// The name of a custom agent that can be none's.
    #[error(
        "context.agent_name must be the name of an agent: at most {ASSISTANT_CHARS} letters, digits and hyphens"
    )]
    Agent,
    /// Secrets that are no texts by names.
    #[error("context.secrets must be an object of texts")]
    Secrets,
    /// More secrets, or longer ones, than are kept.
    #[error(
        "context.secrets holds at most {MAX_SECRETS} texts of at most {SECRET_BYTES} bytes each, {SECRETS_BYTES} together"
    )]
    ManySecrets,
    /// A thread that can be none.
    #[error("config.configurable.thread_id must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -")]
    Thread,
}

/// The thread that `config.configurable` names, if it names one.
pub fn thread(config: &Value) -> Result<Option<ThreadId>, Unfit> {
    match config.get("configurable").and_then(|named| named.get("thread_id")) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) => ThreadId::parse(id.as_str()).map(Some).map_err(|_| Unfit::Thread),
        Some(_) => Err(Unfit::Thread),
    }
}

/// Settles the options of a run in `thread`. `context` beside `config` counts before `config.context`.
pub fn configure(
    assistant: &str,
    config: &Value,
    context: &Value,
    of: &ThreadId,
) -> Result<Configured, Unfit> {
    let agent = agent(assistant)?;
    if !config.is_object() && !config.is_null() {
        return Err(Unfit::NoObject("config"));
    }
    thread(config)?;
    let inner = object(config.get("context"), "config.context")?;
    let outer = object(Some(context), "context")?;
    let replaces = inner.is_some();
    let mut context = match (inner, outer) {
        (None, None) => None,
        (inner, outer) => {
            let mut all = inner.unwrap_or_default();
            all.extend(outer.unwrap_or_default());
            Some(cleared(all))
        }
    };
    let mut configurable =
        object(config.get("configurable"), "config.configurable")?.filter(|_| !replaces).unwrap_or_default();
    configurable = cleared(configurable);
    let mut secrets = BTreeMap::new();
    for options in context.iter_mut().chain([&mut configurable]) {
        for (name, value) in taken(options)? {
            secrets.entry(name).or_insert(value);
        }
    }
    let size = |(name, secret): (&String, &SecretString)| name.len() + secret.expose_secret().len();
    if secrets.len() > MAX_SECRETS || secrets.iter().map(size).sum::<usize>() > SECRETS_BYTES {
        return Err(Unfit::ManySecrets);
    }
    for options in context.iter_mut().chain([&mut configurable]) {
        options.insert("thread_id".to_owned(), of.as_str().into());
        let named = named(options)?;
        if let Some(agent) = agent.as_ref().or(named.as_ref()) {
            options.insert(AGENT.to_owned(), agent.as_str().into());
        }
    }
    let recursion_limit = recursion_limit(config.get("recursion_limit"));
    Ok(Configured { context, configurable, recursion_limit, secrets })
}

impl Configured {
    /// All options together: of those in both places the context's.
    pub fn options(&self) -> Map<String, Value> {
        let mut all = self.configurable.clone();
        all.extend(self.context.clone().unwrap_or_default());
        all.insert("recursion_limit".to_owned(), self.recursion_limit.into());
        all
    }
}

/// The custom agent that an assistant's name stands for; none for the lead.
pub fn agent(assistant: &str) -> Result<Option<String>, Unfit> {
    if assistant == LEAD {
        return Ok(None);
    }
    let name = assistant.to_ascii_lowercase().replace('_', "-");
    let legal = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if name.is_empty() || name.len() > ASSISTANT_CHARS || !legal {
        Err(Unfit::Assistant)
    } else {
        Ok(Some(name))
    }
}

/// Takes the custom agent out that options name: by the rules of an assistant's name, so that one agent has one name.
fn named(options: &mut Map<String, Value>) -> Result<Option<String>, Unfit> {
    match options.remove(AGENT) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) => agent(&name).map_err(|_| Unfit::Agent),
        Some(_) => Err(Unfit::Agent),
    }
}

/// Most super-steps: a whole number above zero counts, up to the most; anything else is the usual.
pub fn recursion_limit(value: Option<&Value>) -> u32 {
    let asked = value.and_then(Value::as_u64).filter(|limit| *limit > 0);
    asked.map_or(RECURSION_LIMIT, |asked| {
        u32::try_from(asked).unwrap_or(MAX_RECURSION_LIMIT).min(MAX_RECURSION_LIMIT)
    })
}

/// The model that options name, under either of its names; none is the first one.
pub fn model(options: &Map<String, Value>) -> Option<&str> {
    let named = |name| options.get(name).and_then(Value::as_str);
    named("model_name").or_else(|| named("model"))
}

fn object(value: Option<&Value>, what: &'static str) -> Result<Option<Map<String, Value>>, Unfit> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(fields)) => Ok(Some(fields.clone())),
        Some(_) => Err(Unfit::NoObject(what)),
    }
}

fn cleared(mut options: Map<String, Value>) -> Map<String, Value> {
    options.retain(|name, _| {
        !name.starts_with("__") && !name.starts_with(OURS_TOO) && !OURS.contains(&name.as_str())
    });
    options
}

/// Takes the secrets out.
fn taken(options: &mut Map<String, Value>) -> Result<BTreeMap<String, SecretString>, Unfit> {
    match options.remove(SECRETS) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(secrets)) => secrets
            .into_iter()
            .map(|(name, value)| match value {
                Value::String(text) if text.len().max(name.len()) > SECRET_BYTES => Err(Unfit::ManySecrets),
                Value::String(text) => Ok((name, SecretString::from(text))),
                _ => Err(Unfit::Secrets),
            })
            .collect(),
        Some(_) => Err(Unfit::Secrets),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn t() -> ThreadId {
        ThreadId::parse("t").unwrap()
    }

    fn configured(config: &Value) -> Configured {
        configure(LEAD, config, &Value::Null, &t()).unwrap()
    }

    #[test]
    fn vector_1_a_recursion_limit_is_a_whole_number_above_zero_and_bounded() {
        for (asked, limit) in [
            (json!(true), 100),
            (json!(5000), 1000),
            (json!(-1), 100),
            (json!(0), 100),
            (json!("50"), 100),
            (json!(2.5), 100),
            (json!(null), 100),
            (json!(50), 50),
        ] {
            assert_eq!(recursion_limit(Some(&asked)), limit, "{asked}");
        }
        assert_eq!(configured(&json!({"recursion_limit": 50})).options()["recursion_limit"], 50);
    }

    #[test]
    fn vector_2_a_context_takes_the_place_of_configurable() {
        let both = configured(&json!({"context": {"a": 1}, "configurable": {"b": 2}}));
        assert_eq!(Value::Object(both.context.unwrap()), json!({"a": 1, "thread_id": "t"}));
        assert_eq!(Value::Object(both.configurable), json!({"thread_id": "t"}));
        let alone = configured(&json!({"configurable": {"b": 2}}));
        assert_eq!(alone.options()["b"], 2);
    }

    #[test]
    fn vector_3_what_begins_with_two_underscores_is_dropped() {
        let options = configured(&json!({"context": {"__x": 1, "model_name": "m"}})).options();
        assert!(!options.contains_key("__x"));
        assert_eq!(options["model_name"], "m");
    }

    #[test]
    fn vector_4_an_assistant_is_an_agent_in_both_places() {
        let config = json!({"context": {}});
        let settled = configure("My_Agent", &config, &Value::Null, &t()).unwrap();
        assert_eq!(settled.context.unwrap()["agent_name"], "my-agent");
        assert_eq!(settled.configurable["agent_name"], "my-agent");
    }

    #[test]
    fn vector_5_an_assistant_has_letters_digits_and_hyphens_only() {
        for wrong in ["a b", "", "ä", "a/b", &"x".repeat(ASSISTANT_CHARS + 1)] {
            assert_eq!(agent(wrong), Err(Unfit::Assistant), "{wrong}");
        }
        assert_eq!(agent(LEAD), Ok(None));
    }

    #[test]
    fn an_agent_has_one_name_wherever_it_is_named() {
        for place in ["context", "configurable"] {
            let config = |name: Value| json!({place: {"agent_name": name}});
            for (told, name) in [("Medic", Some("medic")), ("my_agent", Some("my-agent")), (LEAD, None)] {
                let options = configured(&config(json!(told))).options();
                assert_eq!(options.get("agent_name").and_then(Value::as_str), name, "{told}");
            }
            for wrong in [json!("a b"), json!(""), json!("ä"), json!(7)] {
                assert_eq!(configure(LEAD, &config(wrong), &Value::Null, &t()).unwrap_err(), Unfit::Agent);
            }
            assert!(!configured(&config(Value::Null)).options().contains_key("agent_name"));
            let both = configure("writer", &config(json!("other")), &Value::Null, &t()).unwrap();
            assert_eq!(both.options()["agent_name"], "writer");
        }
    }

    #[test]
    fn vector_7_a_thread_in_the_config_is_a_thread() {
        for wrong in [json!("a.b"), json!(""), json!("x".repeat(65)), json!(1)] {
            assert_eq!(thread(&json!({"configurable": {"thread_id": wrong}})), Err(Unfit::Thread));
        }
        for right in ["A-b_9", &"x".repeat(64)] {
            let found = thread(&json!({"configurable": {"thread_id": right}})).unwrap().unwrap();
            assert_eq!(found.as_str(), right);
        }
    }

    #[test]
    fn what_is_ours_to_say_is_cleared_and_secrets_stand_apart() {
        let context = json!({
            "is_internal": true, "authz_attributes": {}, "channel_user_id": "x", "langgraph_auth_user_id": "x",
            "langgraph_auth_user": {}, "non_interactive": true, "user_id": "other", "thread_id": "other",
            "is_plan_mode": true, "secrets": {"TOKEN": "canary"},
        });
        let config =
            json!({"configurable": {"secrets": {"TOKEN": "later", "MORE": "canary"}, "model_name": "m"}});
        let settled = configure(LEAD, &config, &context, &t()).unwrap();
        let options = Value::Object(settled.options());
        let expected =
            json!({"model_name": "m", "thread_id": "t", "is_plan_mode": true, "recursion_limit": 100});
        assert_eq!(options, expected);
        assert!(!format!("{settled:?}").contains("canary"));
        assert_eq!(settled.secrets["TOKEN"].expose_secret(), "canary");
        assert_eq!(settled.secrets["MORE"].expose_secret(), "canary");
        for wrong in [json!({"secrets": 1}), json!({"secrets": {"A": 1}})] {
            assert_eq!(configure(LEAD, &Value::Null, &wrong, &t()).unwrap_err(), Unfit::Secrets);
        }
        assert!(configure(LEAD, &json!(1), &Value::Null, &t()).is_err());
    }

    #[test]
    fn secrets_are_as_many_and_as_long_as_a_row_takes() {
        let given = |count: usize, bytes: usize| {
            let secrets: Map<String, Value> =
                (0..count).map(|n| (format!("S{n}"), "x".repeat(bytes).into())).collect();
            configure(LEAD, &Value::Null, &json!({ "secrets": secrets }), &t())
                .map(|settled| settled.secrets.len())
        };
        assert_eq!(given(MAX_SECRETS, 10), Ok(MAX_SECRETS));
        assert_eq!(given(1, SECRET_BYTES), Ok(1));
        for (count, bytes) in [(MAX_SECRETS + 1, 1), (1, SECRET_BYTES + 1), (MAX_SECRETS, SECRET_BYTES)] {
            assert_eq!(given(count, bytes), Err(Unfit::ManySecrets), "{count} of {bytes}");
        }
    }
}
