//! One conversation in each dialect: a picture, two tools called at once, one of which fails, and an answer. What is answered
//! stands in `conversations` byte for byte as it comes over the wire.

use pudu_app::ports::{Dialect, ModelCall, Piece};
use pudu_domain::chat::{Content, Message, Speaker, ToolStatus, Usage};
use serde_json::{Value, json};

use super::provider::{Answer, Provider};
use super::{call, clients, said};

/// What is kept of a conversation in one dialect.
struct Kept {
    dialect: Dialect,
    /// Another one than the dialect's own.
    model: Option<&'static str>,
    path: &'static str,
    thought: &'static str,
    requests: [&'static str; 2],
    answers: [&'static [u8]; 2],
}

macro_rules! kept {
    ($dialect:expr, $folder:literal, $model:expr, $path:literal, $thought:literal) => {
        Kept {
            dialect: $dialect,
            model: $model,
            path: $path,
            thought: $thought,
            requests: [
                include_str!(concat!("../../conversations/", $folder, "/first.request")),
                include_str!(concat!("../../conversations/", $folder, "/second.request")),
            ],
            answers: [
                include_bytes!(concat!("../../conversations/", $folder, "/first.answer")),
                include_bytes!(concat!("../../conversations/", $folder, "/second.answer")),
            ],
        }
    };
}

/// Events, one a line: a name and JSON, as the frames that Bedrock sends.
pub(super) fn frames(lines: &str) -> Vec<u8> {
    use aws_smithy_eventstream::frame::write_message_to;
    use aws_smithy_types::event_stream::{Header, HeaderValue, Message as Frame};

    let mut bytes = Vec::new();
    for line in lines.lines() {
        let (name, data) = line.split_once(' ').unwrap();
        let (kind, key) = match name.strip_prefix("exception:") {
            Some(_) => ("exception", ":exception-type"),
            None => ("event", ":event-type"),
        };
        let text = |text: &str| HeaderValue::String(text.to_owned().into());
        let frame = Frame::new(data.as_bytes().to_vec())
            .add_header(Header::new(key, text(name.trim_start_matches("exception:"))))
            .add_header(Header::new(":content-type", text("application/json")))
            .add_header(Header::new(":message-type", text(kind)));
        write_message_to(&frame, &mut bytes).unwrap();
    }
    bytes
}

fn all() -> [Kept; 4] {
    [
        kept!(Dialect::OpenAi, "openai", None, "/v1", ""),
        kept!(Dialect::OpenAi, "compatible", Some("deepseek-chat"), "", "Two tools will do."),
        kept!(Dialect::Anthropic, "anthropic", None, "", "Two tools will do."),
        kept!(
            Dialect::Bedrock,
            "bedrock",
            Some("eu.anthropic.claude-sonnet-5-v1:0"),
            "",
            "Two tools will do."
        ),
    ]
}

impl Kept {
    fn call(&self, url: &str, messages: Vec<Message>) -> ModelCall {
        let mut call = call(self.dialect, &format!("{url}{}", self.path), messages);
        self.model.into_iter().for_each(|model| model.clone_into(&mut call.entry.model));
        call
    }
}

fn opening() -> Vec<Message> {
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}});
    let mut asked = Message::new(Speaker::Human, "h1", "");
    asked.content = Content::Blocks(vec![
        json!({"type": "text", "text": "Wie ist das Wetter hier, und wie spät?"}),
        picture,
    ]);
    vec![Message::new(Speaker::System, "s", "Be brief."), asked]
}

/// The pieces of a call put together: id, name, arguments.
fn pieced(pieces: &[Piece]) -> Vec<(String, String, String)> {
    let mut calls: Vec<(String, String, String)> = Vec::new();
    for piece in pieces {
        let Piece::Call { index, id, name, args } = piece else { continue };
        if *index == calls.len() {
            calls.push(Default::default());
        }
        let call = &mut calls[*index];
        call.0.push_str(id.as_deref().unwrap_or_default());
        call.1.push_str(name.as_deref().unwrap_or_default());
        call.2.push_str(args);
    }
    calls
}

fn texts(pieces: &[Piece]) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) => Some(text.clone()),
        _ => None,
    };
    pieces.iter().filter_map(text).collect()
}

fn thoughts(pieces: &[Piece]) -> String {
    let thought = |piece: &Piece| match piece {
        Piece::Thought(text) => Some(text.clone()),
        _ => None,
    };
    pieces.iter().filter_map(thought).collect()
}

async fn exchange(kept: &Kept, at: usize, messages: Vec<Message>, chunk: usize) -> (Message, Vec<Piece>) {
    let mut provider = Provider::with(Answer::stream(kept.answers[at], chunk)).await;
    let call = kept.call(&provider.url, messages);
    let (said, pieces) = said(&clients(), &call).await;
    let (sent, wanted) = (provider.request().await, kept.requests[at]);
    assert_eq!(sent, wanted, "{:?} sends something else\n{sent}", kept.dialect);
    (said.unwrap(), pieces)
}

#[tokio::test]
async fn a_conversation_is_the_same_byte_for_byte_in_every_dialect() {
    for kept in all() {
        for chunk in [1, 7, 64, 4096, usize::MAX] {
            let mut messages = opening();
            let (first, pieces) = exchange(&kept, 0, messages.clone(), chunk).await;
            let dialect = kept.dialect;
            assert_eq!(
                (first.id.as_str(), first.content.text()),
                ("a1", "Ich sehe nach – Moment.".to_owned()),
                "{dialect:?}"
            );
            assert_eq!(first.finish_reason(), Some("tool_calls"), "{dialect:?}");
            let made: Vec<(&str, Value)> = first
                .tool_calls
                .iter()
                .map(|call| (call.name.as_str(), Value::Object(call.args.clone())))
                .collect();
            assert_eq!(
                made,
                [("weather", json!({"place": "Puerto Montt"})), ("time", json!({}))],
                "{dialect:?}"
            );
            assert_eq!(
                first.usage_metadata,
                Some(Usage { input_tokens: 120, output_tokens: 34, total_tokens: 154 })
            );
            assert_eq!(texts(&pieces), first.content.text(), "{dialect:?}");
            assert_eq!(thoughts(&pieces), kept.thought, "{dialect:?}");
            let pieced = pieced(&pieces);
            assert_eq!(pieced.len(), 2, "{dialect:?}");
            for ((id, name, args), call) in pieced.iter().zip(&first.tool_calls) {
                assert_eq!((id, name), (&call.id, &call.name), "{dialect:?}");
                let args = if args.is_empty() { "{}" } else { args };
                assert_eq!(serde_json::from_str::<Value>(args).unwrap(), Value::Object(call.args.clone()));
            }
            messages.push(first.clone());
            messages.push(Message::tool(&first.tool_calls[0], ToolStatus::Success, "rain, 9 °C"));
            messages.push(Message::tool(&first.tool_calls[1], ToolStatus::Error, "the clock is broken"));
            let (second, pieces) = exchange(&kept, 1, messages, chunk).await;
            assert_eq!(second.content.text(), "Regen, 9 °C. Die Uhr ist kaputt.", "{dialect:?}");
            assert_eq!(texts(&pieces), second.content.text());
            assert!(second.is_final() && second.finish_reason() == Some("stop"), "{dialect:?}");
            assert_eq!(
                second.usage_metadata,
                Some(Usage { input_tokens: 180, output_tokens: 12, total_tokens: 192 })
            );
        }
    }
}

#[tokio::test]
async fn an_answer_that_ends_in_the_middle_is_dropped() {
    for kept in all() {
        let body = &kept.answers[0];
        for end in [0, body.len() / 3, body.len() / 2] {
            let provider = Provider::with(Answer::stream(body[..end].to_vec(), 100)).await;
            let call = kept.call(&provider.url, opening());
            let error = said(&clients(), &call).await.0.unwrap_err();
            assert_eq!(
                error.fault,
                pudu_app::ports::ModelFault::Transient,
                "{:?} {end}: {error}",
                kept.dialect
            );
        }
    }
}
