use pudu_domain::{CredentialTag, Role, Scope, UserId};
use serde_json::json;

use super::*;

fn who() -> Principal {
    let user = UserId::parse("local:default").unwrap();
    Principal { tag: CredentialTag::of_user(&user), user, role: Role::User, scope: Scope::All }
}

fn asked(body: Value) -> Result<Asked, Failure> {
    let request: RunRequest = serde_json::from_value(body).unwrap();
    request.asked(&who(), ThreadId::parse("t").unwrap(), None)
}

#[test]
fn what_a_request_does_not_say_has_its_default() {
    let asked = asked(json!({})).unwrap_or_else(|failure| panic!("{failure:?}"));
    assert_eq!((asked.wanted.assistant.as_str(), asked.wanted.strategy), ("lead_agent", Strategy::Reject));
    assert!(asked.leaves && asked.modes == Modes::default() && !asked.wanted.must_exist);
    assert_eq!(asked.wanted.kwargs["stream_mode"], "values");
}

#[test]
fn unknown_fields_are_refused() {
    assert!(serde_json::from_value::<RunRequest>(json!({"inputs": {}})).is_err());
}

#[test]
fn what_is_not_done_is_refused() {
    for wrong in [
        json!({"webhook": "http://x"}),
        json!({"after_seconds": 1}),
        json!({"on_completion": "delete"}),
        json!({"feedback_keys": []}),
        json!({"interrupt_before": ["model"]}),
        json!({"interrupt_after": "*"}),
        json!({"multitask_strategy": "queue"}),
        json!({"stream_mode": "messages"}),
        json!({"on_disconnect": "keep"}),
        json!({"if_not_exists": "maybe"}),
        json!({"metadata": {"auth_token": "x"}}),
        json!({"assistant_id": "a b"}),
        json!({"checkpoint_id": "no checkpoint"}),
        json!({"config": {"configurable": {"thread_id": "a.b"}}}),
        json!({"input": {"messages": [], "todos": []}}),
        json!({"input": {"messages": [1]}}),
        json!({"input": {}, "command": {"resume": "x"}}),
        json!({"command": {"goto": "x"}}),
    ] {
        assert!(asked(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn nulls_mean_nothing_and_the_queue_is_a_strategy() {
    let body = json!({
        "webhook": null, "interrupt_before": [], "stream_resumable": true, "stream_subgraphs": false,
        "multitask_strategy": "enqueue", "if_not_exists": "create", "on_disconnect": "continue",
        "checkpoint": {"checkpoint_id": "r:3", "checkpoint_ns": ""},
    });
    let asked = asked(body).unwrap_or_else(|failure| panic!("{failure:?}"));
    assert_eq!(asked.wanted.strategy, Strategy::Enqueue);
    assert!(!asked.leaves);
    assert_eq!(asked.wanted.base.map(|base| base.id()).as_deref(), Some("r:3"));
}

#[test]
fn secrets_are_in_nothing_that_is_stored_or_shown() {
    let body = json!({
        "context": {"secrets": {"TOKEN": "canary-1"}, "is_plan_mode": true},
        "config": {"configurable": {"secrets": {"MORE": "canary-2"}}},
        "metadata": {"mcp_task_notification": {}, "mine": 1},
    });
    let asked = asked(body).unwrap_or_else(|failure| panic!("{failure:?}"));
    assert_eq!(asked.wanted.secrets.len(), 2);
    assert!(!format!("{:?}", asked.wanted).contains("canary"));
    assert_eq!(Value::Object(asked.wanted.metadata), json!({"mine": 1}));
}

#[test]
fn an_answer_resumes_a_conversation() {
    let asked = asked(json!({"command": {"resume": "yes", "update": null}}));
    let asked = asked.unwrap_or_else(|failure| panic!("{failure:?}"));
    assert_eq!(asked.wanted.input[0].content.text(), "yes");
}

#[test]
fn what_no_row_takes_is_too_large() {
    let text = "x".repeat(MAX_BYTES);
    let failure = asked(json!({"input": {"messages": [{"role": "user", "content": text}]}})).err().unwrap();
    assert!(failure.detail().contains("at most"), "{failure:?}");
}
