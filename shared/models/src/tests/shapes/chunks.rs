//! Chat completions, as servers that are compatible with them differ.

use std::fmt::Write;

use pudu_app::ports::{Dialect, Piece};
use pudu_domain::chat::{Message, Usage};
use serde_json::{Value, json};

use super::{calls, heard};
use crate::dialect::Trouble;

/// Events of these chunks, and the end.
fn stream(chunks: &[Value]) -> String {
    let mut stream = String::new();
    for chunk in chunks {
        write!(stream, "data: {chunk}\n\n").unwrap();
    }
    stream.push_str("data: [DONE]\n\n");
    stream
}

fn delta(delta: &Value) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn end(finish: &str) -> Value {
    json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
}

fn message(stream: &str) -> Message {
    heard(Dialect::OpenAi, stream.as_bytes()).unwrap().0
}

#[test]
fn of_two_answers_at_once_the_first_is_heard() {
    let one = |index: u64, text: &str| json!({"choices": [{"index": index, "delta": {"content": text}}]});
    let both = json!({"choices": [{"index": 1, "delta": {"content": "X"}}, {"index": 0, "delta": {"content": "c"}}]});
    let ended = json!({"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]});
    let said = message(&stream(&[one(0, "a"), one(1, "X"), one(0, "b"), both, end("stop"), ended]));
    assert_eq!((said.content.text().as_str(), said.finish_reason()), ("abc", Some("stop")));
}

#[test]
fn usage_is_found_where_it_is_told() {
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9});
    for chunk in [
        json!({"choices": [], "usage": usage}),
        json!({"choices": [{"index": 0, "delta": {}, "usage": usage}]}),
        json!({"choices": [{"index": 0, "delta": {}}], "usage": null, "x_groq": {"id": "r", "usage": usage}}),
        // Every chunk tells it, and the last one is right.
        json!({"choices": [{"index": 0, "delta": {"content": ""}}], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}),
    ] {
        let early = json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 1}});
        let said = message(&stream(&[early, delta(&json!({"content": "hi"})), end("stop"), chunk.clone()]));
        let wanted = Usage { input_tokens: 7, output_tokens: 2, total_tokens: 9 };
        assert_eq!(said.usage_metadata, Some(wanted), "{chunk}");
    }
    assert_eq!(message(&stream(&[delta(&json!({"content": "hi"})), end("stop")])).usage_metadata, None);
}

#[test]
fn an_answer_reads_without_its_usual_frame() {
    // CRLF, comments, no space after the colon, a name before each event, and the whole message so far beside each delta.
    let windows = ": PROCESSING\r\n\r\nevent: message\r\ndata:{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"hi\"},\"delta\":{\"role\":\"assistant\",\"content\":\"hi\"}}]}\r\n\r\ndata:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"stop\"}]}\r\n\r\n";
    assert_eq!(message(windows).content.text(), "hi");
    // No reason for the end, and no choices in the first chunk, which is about the prompt.
    let filters =
        json!({"choices": [], "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]});
    let said = message(&stream(&[filters, delta(&json!({"content": "hi"}))]));
    assert_eq!((said.content.text().as_str(), said.finish_reason()), ("hi", None));
}

#[test]
fn how_it_ended_is_told() {
    for finish in ["length", "content_filter", "stop"] {
        let said = message(&stream(&[delta(&json!({"content": "hi"})), end(finish)]));
        assert_eq!(said.finish_reason(), Some(finish));
    }
    let refusal = message(&stream(&[
        delta(&json!({"role": "assistant", "content": null, "refusal": ""})),
        delta(&json!({"refusal": "I can't"})),
        delta(&json!({"refusal": " do that."})),
        end("stop"),
    ]));
    assert_eq!(refusal.content.text(), "I can't do that.");
    for finish in ["error", "insufficient_system_resource"] {
        let broken =
            heard(Dialect::OpenAi, stream(&[delta(&json!({"content": "h"})), end(finish)]).as_bytes());
        assert_eq!(broken.unwrap_err(), Trouble::Dropped("the provider broke the answer off".to_owned()));
    }
}

#[test]
fn an_error_that_stands_in_no_data_is_one() {
    let body = format!(
        "data: {}\n\nerror: {{\"code\":500,\"message\":\"failed to decode\",\"type\":\"server_error\"}}\n\n",
        delta(&json!({"content": "h"}))
    );
    let bare = heard(Dialect::OpenAi, body.as_bytes()).unwrap_err();
    assert!(matches!(bare, Trouble::Told(_)), "{bare:?}");
    let wrapped = body.replace("error: {", "error: {\"error\":{").replace("\"}\n\n", "\"}}\n\n");
    let wrapped = heard(Dialect::OpenAi, wrapped.as_bytes()).unwrap_err();
    assert!(matches!(wrapped, Trouble::Told(_)), "{wrapped:?}");
}

#[test]
fn calls_at_one_place_and_without_ids_come_apart() {
    let call = |id: &Value, name: &str, args: &str| {
        delta(
            &json!({"tool_calls": [{"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": args}}]}),
        )
    };
    for [first, second] in [[json!("a"), json!("b")], [json!(""), json!("")], [Value::Null, Value::Null]] {
        let said = message(&stream(&[
            call(&first, "weather", "{\"place\":\"x\"}"),
            call(&second, "weather", "{\"place\":\"y\"}"),
            end("tool_calls"),
        ]));
        let wanted =
            [("weather", "{\"place\":\"x\"}".to_owned()), ("weather", "{\"place\":\"y\"}".to_owned())];
        assert_eq!(calls(&said), wanted);
        assert_ne!(said.tool_calls[0].id, said.tool_calls[1].id);
    }
    // A name that is repeated in every piece makes no other call.
    let said = message(&stream(&[
        call(&json!("a"), "weather", ""),
        call(&json!("a"), "weather", "{\"place\":"),
        call(&Value::Null, "weather", "\"x\"}"),
        call(&Value::Null, "weather", ""),
        end("tool_calls"),
    ]));
    assert_eq!(calls(&said), [("weather", "{\"place\":\"x\"}".to_owned())]);
}

#[test]
fn signatures_of_calls_and_of_the_whole_are_kept() {
    let signed = json!({"google": {"thought_signature": "c2lnbmVk"}});
    let said = message(&stream(&[
        delta(&json!({"role": "assistant", "extra_content": {"google": {"thought": true}}, "tool_calls": [{
            "index": 0, "id": "a", "type": "function", "extra_content": signed, "function": {"name": "time", "arguments": "{}"},
        }]})),
        end("tool_calls"),
    ]));
    assert_eq!(said.tool_calls[0].extra_content, Some(signed));
    assert_eq!(said.additional_kwargs["extra_content"], json!({"google": {"thought": true}}));
}

#[test]
fn thoughts_are_heard_in_every_field_in_which_they_come() {
    for (field, kept) in [("reasoning_content", None), ("reasoning", Some("reasoning"))] {
        let (said, pieces) = heard(
            Dialect::OpenAi,
            stream(&[
                delta(&json!({"role": "assistant", "content": "", field: ""})),
                delta(&json!({"content": null, field: "so"})),
                delta(&json!({"content": null, field: " so"})),
                delta(&json!({"content": "yes", field: null})),
                end("stop"),
            ])
            .as_bytes(),
        )
        .unwrap();
        assert_eq!(said.additional_kwargs["reasoning_content"], "so so");
        assert_eq!(said.response_metadata.get("reasoning_field").and_then(Value::as_str), kept);
        let wanted = [Piece::Thought("so".into()), Piece::Thought(" so".into()), Piece::Text("yes".into())];
        assert_eq!(pieces, wanted);
    }
    let blocks = message(&stream(&[
        delta(&json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "so"}]}]})),
        delta(
            &json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": " so"}]}, {"type": "text", "text": "y"}]}),
        ),
        delta(&json!({"content": "es"})),
        end("stop"),
    ]));
    assert_eq!(
        (blocks.content.text().as_str(), &blocks.additional_kwargs["reasoning_content"]),
        ("yes", &json!("so so"))
    );
}

#[test]
fn parts_of_thoughts_are_put_together_with_their_signatures() {
    let part = |more: Value| {
        let mut part = json!({"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0});
        part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        delta(&json!({"content": "", "reasoning": more.get("text"), "reasoning_details": [part]}))
    };
    let hidden = json!({"type": "reasoning.encrypted", "data": "b3BhcXVl", "index": 1});
    let said = message(&stream(&[
        part(json!({"text": "so"})),
        part(json!({"text": " so"})),
        part(json!({"signature": "c2lnbmVk"})),
        delta(&json!({"reasoning_details": [hidden]})),
        end("stop"),
    ]));
    let whole = json!({"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0, "text": "so so", "signature": "c2lnbmVk"});
    assert_eq!(said.additional_kwargs["reasoning_details"], json!([whole, hidden]));
    assert_eq!(said.additional_kwargs["reasoning_content"], "so so");
    // Some say them in parts alone.
    let alone = delta(
        &json!({"content": "", "reasoning_details": [{"type": "reasoning.text", "text": "hm", "index": 0}]}),
    );
    assert_eq!(message(&stream(&[alone, end("stop")])).additional_kwargs["reasoning_content"], "hm");
}
