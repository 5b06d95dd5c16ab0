use serde_json::{Value, json};

use super::*;
use crate::fixture::{World, call};
use pudu_domain::state::State;

async fn ask(args: Value) -> Brought {
    let world = World::new(&json!({}));
    Clarification.call(world.bench(&State::default()), &call("c", ASK_CLARIFICATION, &args)).await
}

async fn asked(args: Value) -> Value {
    let brought = ask(args).await;
    assert!(brought.ends, "{brought:?}");
    brought.message.artifact.unwrap()["human_input"].take()
}

#[tokio::test]
async fn vector_97_a_question_is_a_text_a_choice_or_a_form() {
    let free = asked(json!({"question": "Which file?", "clarification_type": "missing_info"})).await;
    assert_eq!(
        free,
        json!({
            "version": 1, "kind": "human_input_request", "source": "ask_clarification", "request_id": "clarification:c",
            "clarification_type": "missing_info", "question": "Which file?", "input_mode": "free_text", "tool_call_id": "c",
        })
    );
    let choice = asked(json!({"question": "Which?", "options": ["a", {"label": "B", "value": "b"}]})).await;
    assert_eq!((&choice["version"], &choice["input_mode"]), (&json!(1), &json!("choice_with_other")));
    assert_eq!(
        choice["options"],
        json!([
            {"id": "option-1", "label": "a", "value": "a"}, {"id": "option-2", "label": "B", "value": "b"},
        ])
    );
    let form = asked(json!({"question": "Where?", "fields": [
        {"name": "city", "required": true}, {"name": "unit", "label": "Unit", "options": ["C", "F"]},
    ]}))
    .await;
    assert_eq!((&form["version"], &form["input_mode"]), (&json!(2), &json!("form")));
    assert_eq!(
        form["fields"],
        json!([
            {"name": "city", "label": "city", "type": "text", "required": true},
            {"name": "unit", "label": "Unit", "type": "select", "required": false, "options": [
                {"id": "unit-option-1", "label": "C", "value": "C"}, {"id": "unit-option-2", "label": "F", "value": "F"},
            ]},
        ])
    );
}

#[tokio::test]
async fn vector_98_options_that_are_written_as_a_text_are_options() {
    let choice = asked(json!({"question": "Which?", "options": "[\"a\",\"b\"]"})).await;
    let ids: Vec<&str> =
        choice["options"].as_array().unwrap().iter().map(|option| option["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["option-1", "option-2"]);
}

#[tokio::test]
async fn a_question_is_read_with_its_sign_its_context_and_its_options() {
    let brought = ask(json!({
        "question": "Delete it?", "clarification_type": "risk_confirmation", "context": "It has no copy.", "options": ["yes", "no"],
    }))
    .await;
    assert_eq!(brought.message.content.text(), "⚠️ It has no copy.\n\nDelete it?\n\n  1. yes\n  2. no");
    assert_eq!(
        (brought.message.id.as_str(), brought.message.tool_call_id.as_deref()),
        ("clarification:c", Some("c"))
    );
    assert_eq!(request::id("", "text"), "clarification:982d9e3eb996f559");
}

#[tokio::test]
async fn what_makes_no_form_is_a_choice_and_what_is_too_much_is_a_text() {
    let fields: Vec<Value> = (0..17).map(|number| json!({"name": format!("f{number}")})).collect();
    let many = asked(json!({"question": "Q", "fields": fields, "options": ["a"]})).await;
    assert_eq!(many["input_mode"], "choice_with_other");
    let twice = asked(json!({"question": "Q", "fields": [{"name": "a"}, {"name": "a"}]})).await;
    assert_eq!(twice["input_mode"], "free_text");
    let options = vec!["ö".repeat(300); 30];
    let cut = asked(json!({ "question": "Q", "options": options })).await;
    let shown = cut["options"].as_array().map_or(0, Vec::len);
    assert_eq!((shown, &cut["input_mode"]), (0, &json!("free_text")), "24 options of 400 bytes, twice each");
    let long = asked(json!({ "question": "Q", "options": vec!["x".repeat(300); 30] })).await;
    assert_eq!(long["options"].as_array().unwrap().len(), 24);
    assert_eq!(long["options"][0]["label"].as_str().unwrap().len(), 200);
}

#[tokio::test]
async fn a_call_that_asks_nothing_does_not_end_the_run() {
    let brought = ask(json!({"question": " "})).await;
    assert_eq!((brought.ends, brought.message.status), (false, Some(ToolStatus::Error)));
}

#[test]
fn where_nobody_is_there_nobody_is_asked() {
    let world = World::new(&json!({"non_interactive": true}));
    assert!(!Clarification.is_offered(&world.options));
    let turn = world.turn(State::default());
    let mut request = Request::default();
    Clarification.shape(&turn, &mut request);
    assert_eq!(request.system, Vec::<String>::new());
    let answer =
        Clarification.before_tool(&turn, &call("c", ASK_CLARIFICATION, &json!({"question": "Q"}))).unwrap();
    assert!(answer.content.text().contains("most reasonable assumption"));
    assert_eq!(Clarification.before_tool(&turn, &call("c", "ls", &json!({}))), None);
}
