use pudu_app::ports::Dialect;
use pudu_domain::chat::{InvalidToolCall, Speaker, ToolCall};
use secrecy::SecretString;
use serde_json::json;

use super::*;

fn call(said: &str) -> ModelCall {
    let mut entry = ModelEntry::new("m", "gpt", Dialect::OpenAi);
    entry.api_key = Some(SecretString::from("sk-canary-1"));
    entry.base_url = Some("https://me:canary%202@llm.example/v1?code=canary-3".to_owned());
    entry.extra = json!({"metadata": {"access_token": "canary-4"}, "stores": [{"token": "canary-5"}]})
        .as_object()
        .unwrap()
        .clone();
    let messages = vec![Message::new(Speaker::Human, "h", said)];
    ModelCall { entry, messages, tools: Vec::new(), id: "a".to_owned(), reasoning_effort: None }
}

fn text(text: &str, said: &str) -> String {
    shown(text, &call(said), &HeaderMap::new())
}

#[test]
fn every_secret_is_hidden_in_each_of_its_forms() {
    let told = "sk-canary-1 canary%202 canary 2 canary-3 canary-4 canary-5 code=canary-3";
    assert!(!text(told, "").contains("canary"), "{}", text(told, ""));
}

#[test]
fn what_the_config_masks_of_passed_on_fields_is_hidden_too() {
    let mut call = call("");
    call.entry.extra = json!({
        "tools": [{"type": "mcp", "headers": {"X-E": "canary-6"}, "server_url": "https://u:canary%207@h/x?sig=canary-8"}],
        "metadata": {"token": ["canary-9", 9_876_543]},
    })
    .as_object()
    .unwrap()
    .clone();
    let told = "tools.0: {X-E: canary-6}, https://u:canary%207@h/x?sig=canary-8 canary 7 ['canary-9', 9876543] of mcp";
    let shown = shown(told, &call, &HeaderMap::new());
    assert!(!shown.contains("canary") && !shown.contains("9876543"), "{shown}");
    assert!(
        shown.starts_with("tools.0: {X-E: ***}") && shown.ends_with("of mcp"),
        "what is left is still of use: {shown}"
    );
}

#[test]
fn what_stands_for_a_variable_is_hidden_whatever_its_field_is_called() {
    let mut call = call("");
    call.entry.extra = json!({"provider_key": "canary-10"}).as_object().unwrap().clone();
    call.entry.variables = vec![SecretString::from("canary-10")];
    assert_eq!(
        shown("no such provider_key: canary-10", &call, &HeaderMap::new()),
        "no such provider_key: ***"
    );
}

#[test]
fn a_short_argument_of_a_call_is_left_out_by_itself_too() {
    let mut call = call("");
    let mut answer = Message::new(Speaker::Ai, "a", "");
    let args = json!({"name": "Mrs. Fuentes", "day": "Tuesday", "quoted": "she said \"it is the deer\""});
    answer.tool_calls = vec![ToolCall::new("c", "visit", args.as_object().unwrap().clone())];
    call.messages.push(answer);
    let told = "arguments {'name': 'Mrs. Fuentes', 'quoted': 'she said \"it is the deer\"'} do not fit";
    assert_eq!(
        shown(told, &call, &HeaderMap::new()),
        "arguments {'name': '[…]', 'quoted': '[…]'} do not fit"
    );
}

#[test]
fn what_was_said_is_left_out_and_what_was_not_stays() {
    let said = "the deer of Mrs. Fuentes\nare ill since Tuesday";
    let told = "content 'deer of Mrs. Fuentes are ill since' is not allowed in schema 'x'";
    assert_eq!(text(told, said), "content '[…]' is not allowed in schema 'x'");
    assert_eq!(text("bad value: ill deer", "ill deer"), "bad value: […]");
    assert_eq!(text("model is gone", "hi"), "model is gone");
    let mut call = call("");
    let args = json!({"where": "at the third fence of the pasture"}).as_object().unwrap().clone();
    call.messages[0].tool_calls.push(ToolCall::new("1", "look", args));
    let shown = shown("wrong: at the third fence of the pasture", &call, &HeaderMap::new());
    assert_eq!(shown, "wrong: […]");
}

#[test]
fn what_a_provider_gets_back_is_left_out_and_names_stay() {
    let mut call = call("");
    let [message] = call.messages.as_mut_slice() else { panic!("there is one") };
    message.content = Content::Blocks(vec![
        json!({"type": "thinking", "thinking": "perhaps the third fence", "signature": "EqQBCgIYAhIkMGUxYzQ3ZGRhOWE="}),
        json!({"type": "image_url", "image_url": {"url": "data:image/webp;base64,UklGRiQAAABXRUJQ"}}),
    ]);
    message.additional_kwargs.insert("reasoning_content".into(), "他可能想问围栏的事情".into());
    let mut made = ToolCall::new("1", "look", serde_json::Map::new());
    made.extra_content = Some(json!({"google": {"thought_signature": "CiQB0e2Kb7Yw3mM9qVtX5zZk1p8="}}));
    message.tool_calls.push(made);
    message.invalid_tool_calls.push(InvalidToolCall {
        name: None,
        args: Some("{\"where\": \"at the second fe".into()),
        id: None,
        error: None,
    });
    for said in [
        "perhaps the third fence",
        "EqQBCgIYAhIkMGUxYzQ3ZGRhOWE=",
        "data:image/webp;base64,UklGRiQAAABXRUJQ",
        "他可能想问围栏的事情",
        "CiQB0e2Kb7Yw3mM9qVtX5zZk1p8=",
        "{\"where\": \"at the second fe",
    ] {
        let shown = shown(&format!("image_url: '{said}' is wrong"), &call, &HeaderMap::new());
        assert_eq!(shown, "image_url: '[…]' is wrong");
    }
}

#[test]
fn it_is_one_line_of_a_few_hundred_characters() {
    let long = "ü\n".repeat(4000);
    let shown = text(&long, "");
    assert_eq!(shown.chars().count(), MAX_CHARS);
    assert!(!shown.contains('\n'));
}
