//! Anthropic's events and Bedrock's frames.

use std::fmt::Write;

use pudu_app::ports::Dialect;
use pudu_domain::chat::{Content, Message, Speaker, Usage};
use serde_json::{Value, json};

use super::super::conversation::frames;
use super::super::{call, rules::body};
use super::{calls, heard};

/// A message of these events: a type each, and what else is in it.
fn anthropic(events: &[(&str, Value)]) -> Message {
    let mut bytes = String::from(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}     }\n\n",
    );
    for (kind, more) in events {
        let mut event = json!({"type": kind});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        write!(bytes, "event: {kind}\ndata: {event}   \n\n").unwrap();
    }
    bytes.push_str("event: message_stop\ndata: {\"type\":\"message_stop\"  }\n\n");
    heard(Dialect::Anthropic, bytes.as_bytes()).unwrap().0
}

fn start(index: u64, block: &Value) -> (&'static str, Value) {
    ("content_block_start", json!({"index": index, "content_block": block}))
}

fn delta(index: u64, delta: &Value) -> (&'static str, Value) {
    ("content_block_delta", json!({"index": index, "delta": delta}))
}

fn text(index: u64, text: &str) -> (&'static str, Value) {
    delta(index, &json!({"type": "text_delta", "text": text}))
}

fn end(reason: &str) -> (&'static str, Value) {
    (
        "message_delta",
        json!({"delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 5}}),
    )
}

#[test]
fn tools_that_the_provider_runs_itself_are_no_calls() {
    let said = anthropic(&[
        start(0, &json!({"type": "text", "text": ""})),
        text(0, "I look. "),
        start(1, &json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}})),
        delta(1, &json!({"type": "input_json_delta", "partial_json": "{\"query\":"})),
        delta(1, &json!({"type": "input_json_delta", "partial_json": "\"pudu\"}"})),
        start(2, &json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []})),
        ("content_block_stop", json!({"index": 2})),
        start(3, &json!({"type": "text", "text": "", "citations": []})),
        delta(
            3,
            &json!({"type": "citations_delta", "citation": {"type": "web_search_result_location", "url": "https://x.example"}}),
        ),
        text(3, "A deer."),
        start(
            4,
            &json!({"type": "tool_use", "id": "toolu_1", "name": "time", "input": {}, "caller": {"type": "direct"}}),
        ),
        delta(4, &json!({"type": "input_json_delta", "partial_json": ""})),
        ("surprise", json!({"index": 4})),
        end("tool_use"),
    ]);
    assert_eq!(said.content, Content::from("I look. A deer."));
    assert_eq!(calls(&said), [("time", "{}".to_owned())]);
    assert_eq!(said.usage_metadata, Some(Usage { input_tokens: 3, output_tokens: 5, total_tokens: 8 }));
}

#[test]
fn thoughts_keep_their_places_and_go_back_in_them() {
    let thought =
        |text: &str, signature: &str| json!({"type": "thinking", "thinking": text, "signature": signature});
    let hidden = json!({"type": "redacted_thinking", "data": "b3BhcXVl"});
    let mut said = anthropic(&[
        start(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, &json!({"type": "thinking_delta", "thinking": "so"})),
        delta(0, &json!({"type": "thinking_delta", "thinking": ""})),
        delta(0, &json!({"type": "signature_delta", "signature": "MQ=="})),
        start(1, &json!({"type": "text", "text": ""})),
        text(1, "First"),
        text(1, " this."),
        start(2, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(2, &json!({"type": "signature_delta", "signature": "Mg=="})),
        start(3, &hidden),
        start(4, &json!({"type": "tool_use", "id": "toolu_1", "name": "time", "input": {}})),
        end("tool_use"),
    ]);
    let first = json!({"type": "text", "text": "First this."});
    let wanted = vec![thought("so", "MQ=="), first.clone(), thought("", "Mg=="), hidden.clone()];
    assert_eq!(said.content, Content::Blocks(wanted.clone()));
    said.tool_calls[0].id = "toolu_1".to_owned();
    let human = |text: &str| Message::new(Speaker::Human, "h", text);
    let back = body(&call(
        Dialect::Anthropic,
        "https://llm.example",
        vec![human("hi"), said.clone(), human("and?")],
    ));
    let made = json!({"type": "tool_use", "id": "toolu_1", "name": "time", "input": {}});
    let whole: Vec<Value> = wanted.into_iter().chain([made]).collect();
    assert_eq!(back["messages"][1]["content"], Value::Array(whole));
    // Bedrock has the same thoughts in other words.
    said.response_metadata.insert("model_provider".into(), "bedrock".into());
    said.response_metadata.insert("model_name".into(), "eu.amazon.nova-pro-v1:0".into());
    let back = body(&call(Dialect::Bedrock, "https://llm.example", vec![human("hi"), said, human("and?")]));
    let kinds: Vec<&String> = back["messages"][1]["content"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|block| block.as_object().unwrap().keys())
        .collect();
    assert_eq!(kinds, ["reasoningContent", "text", "reasoningContent", "reasoningContent", "toolUse"]);
    assert_eq!(back["messages"][1]["content"][3]["reasoningContent"], json!({"redactedContent": "b3BhcXVl"}));
}

#[test]
fn who_refuses_to_say_anything_says_why() {
    let details = json!({"type": "refusal", "category": "bio", "explanation": "This was blocked."});
    let refused =
        json!({"delta": {"stop_reason": "refusal", "stop_details": details}, "usage": {"output_tokens": 0}});
    let said = anthropic(&[("message_delta", refused.clone())]);
    assert_eq!(
        (said.content.text().as_str(), said.finish_reason()),
        ("This was blocked.", Some("content_filter"))
    );
    let late = anthropic(&[
        start(0, &json!({"type": "text", "text": ""})),
        text(0, "Well"),
        ("message_delta", refused),
    ]);
    assert_eq!(late.content.text(), "Well");
}

#[test]
fn an_answer_that_begins_anew_in_the_middle_is_dropped() {
    let begin = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[]}}\n\n";
    let text = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"hi\"}}\n\n";
    let end = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let of = |parts: &[&str]| heard(Dialect::Anthropic, parts.concat().as_bytes());
    let twice = of(&[begin, begin, text, end]).unwrap().0;
    assert_eq!(twice.content.text(), "hi", "said twice before anything else it is one beginning");
    assert!(matches!(of(&[begin, text, begin, text, end]), Err(crate::dialect::Trouble::Dropped(_))));
    let after = of(&[begin, text, end, begin, text, "data: no JSON\n\n"]).unwrap().0;
    assert_eq!(after.content.text(), "hi", "what comes after the end is nobody's");
}

#[test]
fn why_it_stopped_is_said_in_common_words_and_in_its_own() {
    for (reason, common) in [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
        ("pause_turn", "pause_turn"),
    ] {
        let said = anthropic(&[start(0, &json!({"type": "text", "text": ""})), text(0, "hi"), end(reason)]);
        assert_eq!(said.finish_reason(), Some(common));
        assert_eq!(said.response_metadata["stop_reason"], reason);
    }
    for (reason, common) in [
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
    ] {
        let lines = format!(
            "messageStart {{\"role\":\"assistant\"}}\ncontentBlockDelta {{\"contentBlockIndex\":0,\"delta\":{{\"text\":\"hi\"}}}}\nmessageStop {{\"stopReason\":\"{reason}\"}}\nmetadata {{\"usage\":{{\"inputTokens\":2,\"outputTokens\":1,\"totalTokens\":3}},\"trace\":{{\"guardrail\":{{}}}}}}"
        );
        let said = heard(Dialect::Bedrock, &frames(&lines)).unwrap().0;
        assert_eq!(said.finish_reason(), Some(common), "{reason}");
    }
}

#[test]
fn bedrock_s_own_tools_are_no_calls_and_hidden_thoughts_are_kept() {
    let lines = [
        r#"messageStart {"p":"ab","role":"assistant"}"#,
        r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"redactedContent":"b3BhcXVl"}},"p":"abc"}"#,
        r#"contentBlockStart {"contentBlockIndex":1,"start":{"toolUse":{"name":"nova_grounding","toolUseId":"tooluse_s","type":"server_tool_use"}}}"#,
        r#"contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"query\":\"pudu\"}"}}}"#,
        r#"contentBlockStart {"contentBlockIndex":2,"start":{"toolResult":{"status":"success","toolUseId":"tooluse_s","type":"nova_grounding_result"}}}"#,
        r#"contentBlockDelta {"contentBlockIndex":2,"delta":{"toolResult":[{"text":"[HIDDEN]"}]}}"#,
        r#"contentBlockDelta {"contentBlockIndex":3,"delta":{"text":"A deer."}}"#,
        r#"contentBlockDelta {"contentBlockIndex":3,"delta":{"citation":{"location":{"web":{"url":"https://x.example"}}}}}"#,
        r#"contentBlockStart {"contentBlockIndex":4,"start":{"toolUse":{"name":"time","toolUseId":"tooluse_t","type":"tool_use"}}}"#,
        r#"contentBlockDelta {"contentBlockIndex":4,"delta":{"toolUse":{"input":""}}}"#,
        r#"surprise {"x":1}"#,
        r#"messageStop {"p":"abcd","stopReason":"tool_use"}"#,
        r#"metadata {"metrics":{"latencyMs":5},"usage":{"cacheReadInputTokens":5,"cacheWriteInputTokens":2,"inputTokens":3,"outputTokens":4,"totalTokens":14}}"#,
    ];
    let said = heard(Dialect::Bedrock, &frames(&lines.join("\n"))).unwrap().0;
    assert_eq!(calls(&said), [("time", "{}".to_owned())]);
    let thought = json!({"type": "redacted_thinking", "data": "b3BhcXVl"});
    assert_eq!(said.content, Content::Blocks(vec![thought, json!({"type": "text", "text": "A deer."})]));
    assert_eq!(said.usage_metadata, Some(Usage { input_tokens: 10, output_tokens: 4, total_tokens: 14 }));
}
