//! What each dialect does with what is not in the conversation that is kept.

use pudu_app::ports::{Dialect, ModelCall};
use pudu_domain::chat::{Content, InvalidToolCall, Message, Speaker, ToolCall, ToolStatus};
use serde_json::{Map, Value, json};

use super::call;
use crate::dialect::Tongue;

pub(super) fn body(call: &ModelCall) -> Value {
    serde_json::from_slice(&Tongue::of(call).unwrap().request.body).unwrap()
}

fn with(dialect: Dialect, messages: Vec<Message>) -> ModelCall {
    call(dialect, "https://llm.example", messages)
}

fn human(text: &str) -> Message {
    Message::new(Speaker::Human, "h", text)
}

#[test]
fn what_is_passed_on_is_in_the_request_and_wins() {
    for (dialect, at) in
        [(Dialect::OpenAi, ""), (Dialect::Anthropic, ""), (Dialect::Bedrock, "/additionalModelRequestFields")]
    {
        let mut call = with(dialect, vec![human("hi")]);
        call.entry.extra = json!({"top_k": 9, "stream_options": {"x": 1}}).as_object().unwrap().clone();
        let body = body(&call);
        assert_eq!(body.pointer(&format!("{at}/top_k")), Some(&json!(9)), "{body}");
    }
    let mut call = with(Dialect::OpenAi, vec![human("hi")]);
    call.entry.extra = json!({"stream_options": {"x": 1}, "temperature": 1}).as_object().unwrap().clone();
    call.reasoning_effort = Some("high".to_owned());
    let body = body(&call);
    assert_eq!(body["stream_options"], json!({"include_usage": true, "x": 1}));
    assert_eq!((&body["temperature"], &body["reasoning_effort"]), (&json!(1), &json!("high")));
}

#[test]
fn the_provider_itself_takes_the_newer_name_of_the_limit() {
    let mut call = with(Dialect::OpenAi, vec![human("hi")]);
    assert_eq!(body(&call)["max_tokens"], 1000);
    call.entry.base_url = None;
    let own = body(&call);
    assert_eq!((&own["max_completion_tokens"], &own["max_tokens"]), (&json!(1000), &Value::Null));
}

#[test]
fn a_model_that_thinks_has_its_own_temperature() {
    let mut call = with(Dialect::Anthropic, vec![human("hi")]);
    assert_eq!(body(&call)["temperature"], 0.5);
    call.entry.extra =
        json!({"thinking": {"type": "enabled", "budget_tokens": 512}}).as_object().unwrap().clone();
    assert_eq!(body(&call)["temperature"], Value::Null);
    assert_eq!(body(&call)["thinking"]["budget_tokens"], 512);
}

#[test]
fn thoughts_are_given_back_to_the_model_that_had_them_and_to_no_other() {
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    let mut said = Message::new(Speaker::Ai, "a", "");
    said.content = Content::Blocks(vec![thought.clone(), json!({"type": "text", "text": "yes"})]);
    let of = |provider: &str, model: &str| {
        let mut said = said.clone();
        said.response_metadata.insert("model_provider".into(), provider.into());
        said.response_metadata.insert("model_name".into(), model.into());
        vec![human("hi"), said, human("and?")]
    };
    let own = body(&with(Dialect::Anthropic, of("anthropic", "claude-opus-5")));
    assert_eq!(own["messages"][1]["content"], json!([thought, {"type": "text", "text": "yes"}]));
    for (dialect, provider, model) in [
        (Dialect::Anthropic, "anthropic", "claude-3"),
        (Dialect::Bedrock, "anthropic", "claude-opus-5"),
        (Dialect::OpenAi, "anthropic", "claude-opus-5"),
    ] {
        assert!(!body(&with(dialect, of(provider, model))).to_string().contains("\"hm\""), "{dialect:?}");
    }
    let bedrock = body(&with(Dialect::Bedrock, of("bedrock", "eu.amazon.nova-pro-v1:0")));
    let back = json!({"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}});
    assert_eq!(bedrock["messages"][1]["content"][0], back);
}

#[test]
fn reasoning_content_goes_back_to_its_own_model() {
    let mut said = Message::new(Speaker::Ai, "a", "yes");
    said.additional_kwargs.insert("reasoning_content".into(), "hm".into());
    said.response_metadata.insert("model_name".into(), "gpt-5.5".into());
    let mut call = with(Dialect::OpenAi, vec![human("hi"), said, human("and?")]);
    assert_eq!(body(&call)["messages"][1]["reasoning_content"], "hm");
    call.entry.model = "other".to_owned();
    assert_eq!(body(&call)["messages"][1].get("reasoning_content"), None);
}

#[test]
fn no_side_speaks_twice_in_a_row_and_no_turn_is_empty() {
    let one = ToolCall::new("x:1", "weather", Map::new());
    let mut asks = Message::new(Speaker::Ai, "a", "");
    asks.tool_calls.push(one.clone());
    let messages = vec![
        human("first"),
        human("second"),
        asks,
        Message::tool(&one, ToolStatus::Success, "rain"),
        human("third"),
        Message::new(Speaker::Ai, "b", "  "),
        human("fourth"),
    ];
    for dialect in [Dialect::Anthropic, Dialect::Bedrock] {
        let body = body(&with(dialect, messages.clone()));
        let roles: Vec<&str> =
            body["messages"].as_array().unwrap().iter().map(|turn| turn["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["user", "assistant", "user"], "{body}");
        assert_eq!(body["messages"][2]["content"].as_array().unwrap().len(), 3, "{body}");
    }
    let anthropic = body(&with(Dialect::Anthropic, messages));
    let id = &anthropic["messages"][1]["content"][0]["id"];
    assert_eq!(id, &anthropic["messages"][2]["content"][0]["tool_use_id"]);
    assert!(
        id.as_str().unwrap().starts_with("call_"),
        "another provider's id has characters that are not taken"
    );
}

#[test]
fn a_broken_call_is_sent_only_with_its_answer() {
    let broken = InvalidToolCall {
        name: Some("weather".into()),
        args: Some("{\"pla".into()),
        id: Some("call_1".into()),
        error: Some("no JSON".into()),
    };
    let said = Message { invalid_tool_calls: vec![broken], ..Message::new(Speaker::Ai, "a", "wait") };
    let answer = Message::tool(&ToolCall::new("call_1", "weather", Map::new()), ToolStatus::Error, "broken");
    for dialect in [Dialect::OpenAi, Dialect::Anthropic, Dialect::Bedrock] {
        let alone = body(&with(dialect, vec![human("hi"), said.clone()]));
        assert!(!alone.to_string().contains("call_1"), "{alone}");
        let answered = body(&with(dialect, vec![human("hi"), said.clone(), answer.clone()])).to_string();
        assert_eq!(answered.matches("call_1").count(), 2, "{answered}");
        assert!(!answered.contains("{\\\"pla"));
    }
}

#[test]
fn pictures_are_passed_on_as_they_are() {
    let ours =
        json!({"type": "image_url", "image_url": {"url": "data:image/webp;base64,AAAA", "detail": "high"}});
    let theirs =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": "AAAA"}});
    for block in [&ours, &theirs] {
        let said = Message { content: Content::Blocks(vec![block.clone()]), ..human("") };
        let openai = body(&with(Dialect::OpenAi, vec![said.clone()]));
        assert_eq!(openai["messages"][0]["content"][0]["image_url"]["url"], "data:image/webp;base64,AAAA");
        let mut anthropic = with(Dialect::Anthropic, vec![said.clone()]);
        anthropic.entry.caches = Some(false);
        let anthropic = body(&anthropic);
        assert_eq!(anthropic["messages"][0]["content"][0], theirs);
        let bedrock = body(&with(Dialect::Bedrock, vec![said]));
        let image = &bedrock["messages"][0]["content"][0]["image"];
        assert_eq!(image, &json!({"format": "webp", "source": {"bytes": "AAAA"}}));
    }
}
