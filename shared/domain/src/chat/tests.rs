use serde_json::json;

use super::*;

#[test]
fn a_message_reads_back_as_the_reference_writes_it() {
    let told = json!({
        "type": "ai", "id": "m1", "content": "hi",
        "tool_calls": [{"name": "ls", "args": {"path": "/"}, "id": "c1", "type": "tool_call"}],
        "usage_metadata": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    });
    let message: Message = serde_json::from_value(told.clone()).unwrap();
    assert_eq!(serde_json::to_value(&message).unwrap(), told);
    assert!(!message.is_final());
}

#[test]
fn what_a_provider_wants_back_with_a_call_is_kept_and_needs_not_be_there() {
    let plain = json!({"name": "ls", "args": {}, "id": "c1", "type": "tool_call"});
    let mut call: ToolCall = serde_json::from_value(plain.clone()).unwrap();
    assert_eq!((call.extra_content.as_ref(), serde_json::to_value(&call).unwrap()), (None, plain));
    call.extra_content = Some(json!({"google": {"thought_signature": "c2ln"}}));
    let told = serde_json::to_value(&call).unwrap();
    assert_eq!(serde_json::from_value::<ToolCall>(told).unwrap(), call);
}

#[test]
fn blocks_are_text_and_something_else() {
    let content = Content::Blocks(vec![
        json!({"type": "text", "text": "a"}),
        json!({"type": "image_url", "image_url": {"url": "x"}}),
        json!({"type": "text", "text": "b"}),
    ]);
    assert_eq!(content.text(), "ab");
    assert!(!content.is_blank(), "a picture says something");
    assert!(!Content::Blocks(vec![json!({"type": "image_url"})]).is_blank());
    assert!(Content::Blocks(vec![json!({"type": "text", "text": " \n"})]).is_blank());
    assert!(Content::from(" ").is_blank() && !Content::from("a").is_blank());
}

#[test]
fn an_answer_is_final_when_it_asks_for_nothing() {
    let mut answer = Message::new(Speaker::Ai, "m", "done");
    assert!(answer.is_final());
    answer.response_metadata.insert("finish_reason".into(), json!("tool_calls"));
    assert!(!answer.is_final());
    answer.response_metadata.clear();
    answer.invalid_tool_calls.push(InvalidToolCall { name: None, args: None, id: None, error: None });
    assert!(!answer.is_final());
    assert!(!Message::new(Speaker::Human, "m", "done").is_final());
}

#[test]
fn a_tools_message_replaces_an_earlier_one_of_the_same_call() {
    let call = ToolCall::new("c1", "ls", Map::new());
    let (first, second) = (
        Message::tool(&call, ToolStatus::Error, "broken"),
        Message::tool(&call, ToolStatus::Success, "a\nb"),
    );
    assert_eq!(first.id, second.id);
    assert_eq!(second.tool_call_id.as_deref(), Some("c1"));
}

#[test]
fn what_this_house_writes_is_no_users_word() {
    let plain = Message::new(Speaker::Human, "m", "hi");
    assert!(plain.is_users());
    assert!(!plain.clone().hidden().is_users() && !plain.named("todo_reminder").is_users());
}
