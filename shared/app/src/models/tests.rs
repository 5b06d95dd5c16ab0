use std::collections::BTreeSet;

use async_trait::async_trait;
use pudu_config::{Document, NoSecrets, Secrets};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::*;

struct Shelf;

impl Secrets for Shelf {
    fn get(&self, name: &str) -> Option<SecretString> {
        (name == "KEY").then(|| SecretString::from("canary"))
    }

    fn is_known(&self, name: &str) -> bool {
        name != "FAR"
    }
}

#[async_trait]
impl Vault for Shelf {
    async fn warm(&self, _names: &BTreeSet<String>) {}
}

fn roster(models: &Value) -> Roster {
    Roster::new(Document::parse(json!({ "models": models })).unwrap().models(), Arc::new(Shelf))
}

fn two() -> Roster {
    roster(&json!([
        {"name": "a", "use": "langchain_openai:ChatOpenAI", "model": "gpt", "api_key": "$KEY", "supports_thinking": true,
         "thinking": {"type": "enabled"}, "max_tokens": 9, "max_retries": 1, "supports_reasoning_effort": true},
        {"name": "b", "use": "langchain_anthropic:ChatAnthropic", "model": "claude", "display_name": "B"},
    ]))
}

#[test]
fn the_first_model_is_the_default_and_the_script_stands_in_for_none() {
    assert_eq!(two().choose(None, false).unwrap().entry.name, "a");
    assert_eq!(two().choose(Some("gone"), false).unwrap().entry.name, "a");
    let none = Roster::new(&[], Arc::new(NoSecrets)).choose(None, true).unwrap();
    assert_eq!((none.entry.dialect, none.thinks), (Dialect::Scripted, false));
}

#[test]
fn a_model_that_nobody_configured_is_refused_with_those_that_there_are() {
    assert_eq!(two().check(None), Ok(()));
    assert_eq!(two().check(Some("b")), Ok(()));
    let error = two().check(Some("gpt")).unwrap_err();
    assert_eq!(error.to_string(), "there is no model 'gpt'; the models are a, b");
}

#[test]
fn a_chosen_model_has_everything_that_its_entry_says() {
    let chosen = two().choose(Some("a"), true).unwrap();
    assert!(chosen.thinks && !chosen.sees);
    assert_eq!(chosen.entry.api_key.as_ref().unwrap().expose_secret(), "canary");
    assert_eq!((chosen.entry.max_tokens, chosen.entry.retries), (Some(9), 1));
    assert_eq!(Value::Object(chosen.entry.extra.clone()), json!({"thinking": {"type": "enabled"}}));
    assert_eq!(chosen.effort(Some("high")).as_deref(), Some("high"));
    assert!(!format!("{chosen:?}").contains("canary"));
    let other = two().choose(Some("b"), true).unwrap();
    assert!(!other.thinks && other.effort(Some("high")).is_none());
    assert_eq!(other.entry.dialect, Dialect::Anthropic);
}

#[test]
fn a_key_that_is_not_there_is_named_and_one_that_was_not_read_may_come() {
    let with = |key: &str| {
        let model =
            json!({"name": "a", "use": "langchain_openai:ChatOpenAI", "model": "gpt", "api_key": key});
        roster(&json!([model])).choose(None, false).unwrap_err()
    };
    let unset = with("$NEAR");
    assert_eq!(unset.fault, ModelFault::Auth);
    assert!(unset.to_string().contains("the variable NEAR is not set"));
    assert_eq!(with("$FAR").fault, ModelFault::Transient);
}

#[test]
fn what_everybody_sees_has_no_secret_and_no_address() {
    let shown = two().shown();
    assert_eq!(
        (shown[1].name.as_str(), shown[1].display_name.as_str(), shown[1].description.as_ref()),
        ("b", "B", None)
    );
    assert!(shown[0].supports_thinking && !shown[1].supports_reasoning_effort);
    assert!(!format!("{shown:?}").contains("KEY"));
}

#[test]
fn a_model_that_is_nowhere_is_not_called_and_the_others_are() {
    let roster = roster(&json!([
        {"name": "a", "use": "deerflow.models.patched_minimax:PatchedChatMiniMax", "model": "m", "api_key": "$KEY"},
        {"name": "b", "use": "langchain_openai:ChatOpenAI", "model": "gpt", "api_key": "$KEY"},
    ]));
    let error = roster.choose(Some("a"), false).unwrap_err();
    assert_eq!((error.fault.clone(), error.fault.is_outage()), (ModelFault::Other, false));
    assert!(
        error
            .to_string()
            .contains("model 'a' did not answer: its entry does not say where it is; set base_url")
    );
    assert_eq!(roster.choose(Some("b"), false).unwrap().entry.name, "b");
}
