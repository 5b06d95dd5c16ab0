//! Shapes of answers that providers were seen to give, each with bytes of our own: what is heard of them, wherever they are cut.

mod blocks;
mod chunks;

use pudu_app::ports::{Dialect, Piece};
use pudu_domain::chat::{Message, Speaker};

use super::call;
use crate::dialect::{Tongue, Trouble};

/// What comes of `bytes`, which is the same wherever they are cut.
fn heard(dialect: Dialect, bytes: &[u8]) -> Result<(Message, Vec<Piece>), Trouble> {
    let whole = cut(dialect, bytes, usize::MAX);
    for size in [1, 7, 4096] {
        let again = cut(dialect, bytes, size);
        assert_eq!(again.as_ref().map(|(message, _)| message), whole.as_ref().map(|(message, _)| message));
    }
    whole
}

fn cut(dialect: Dialect, bytes: &[u8], size: usize) -> Result<(Message, Vec<Piece>), Trouble> {
    let call = call(dialect, "https://llm.example", vec![Message::new(Speaker::Human, "h", "hi")]);
    let Tongue { mut decoder, mut listener, .. } = Tongue::of(&call).unwrap();
    let mut pieces = Vec::new();
    for chunk in bytes.chunks(size) {
        for event in decoder.push(chunk).unwrap() {
            if listener.is_whole() {
                break;
            }
            pieces.extend(listener.hear(&event)?);
        }
    }
    Ok((listener.message("a1")?, pieces))
}

/// The names of the calls and their arguments.
fn calls(message: &Message) -> Vec<(&str, String)> {
    assert!(message.invalid_tool_calls.is_empty(), "{message:?}");
    let args = |call: &pudu_domain::chat::ToolCall| serde_json::Value::Object(call.args.clone()).to_string();
    message.tool_calls.iter().map(|call| (call.name.as_str(), args(call))).collect()
}
