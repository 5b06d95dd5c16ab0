//! How long messages are, about. Counting as a model does would need its tokenizer; being off by a quarter only moves a summary.

use pudu_domain::chat::Message;
use serde_json::json;

/// Tokens around each message.
const AROUND: u64 = 3;

/// About how many tokens `messages` are.
pub(crate) fn tokens<'a>(messages: impl IntoIterator<Item = &'a Message>) -> u64 {
    messages.into_iter().map(one).fold(0, u64::saturating_add)
}

fn one(message: &Message) -> u64 {
    let calls = message.tool_calls.iter().map(|call| text(&call.name) + text(&json!(call.args).to_string()));
    text(&message.content.text()) + calls.sum::<u64>() + AROUND
}

/// Four ASCII characters are a token, any other is one: of Chinese text a quarter would be far too few.
pub(crate) fn text(text: &str) -> u64 {
    let (ascii, other) =
        text.chars().fold(
            (0_u64, 0_u64),
            |(ascii, other), c| {
                if c.is_ascii() { (ascii + 1, other) } else { (ascii, other + 1) }
            },
        );
    ascii.div_ceil(4) + other
}
