//! Which messages go. Pure.

use pudu_config::Keep;
use pudu_domain::chat::{Message, Speaker};

use super::size;

/// The messages that go: those before the cut, except what must stay in sight, which is the newest reminder of the day and the latest
/// words of the user.
pub(super) fn dropped(messages: &[Message], keep: Keep) -> Vec<&Message> {
    let cut = together(messages, kept_from(messages, keep));
    let last = |what: &dyn Fn(&Message) -> bool| messages.iter().rposition(what);
    let stays = [last(&Message::is_users), last(&Message::is_reminder)];
    let before = messages.iter().enumerate().take(cut);
    // A message without an id cannot be named, so it cannot go.
    before
        .filter(|(index, message)| !stays.contains(&Some(*index)) && !message.id.is_empty())
        .map(|(_, message)| message)
        .collect()
}

/// The newest of `messages` that are together at most `most` tokens; at least one.
pub(super) fn newest(messages: &[Message], most: Option<u64>) -> &[Message] {
    let Some(most) = most else { return messages };
    let from = from_within(messages, most).min(messages.len().saturating_sub(1));
    messages.get(from..).unwrap_or_default()
}

fn kept_from(messages: &[Message], keep: Keep) -> usize {
    match keep {
        Keep::Messages(count) => messages.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX)),
        Keep::Tokens(most) => from_within(messages, most),
    }
}

/// From where on the messages are together at most `most` tokens.
fn from_within(messages: &[Message], most: u64) -> usize {
    let mut left = most;
    for (index, message) in messages.iter().enumerate().rev() {
        match left.checked_sub(size::tokens([message])) {
            Some(after) => left = after,
            None => return index + 1,
        }
    }
    0
}

/// The cut, moved back to before the model's message whose calls the messages behind it answer.
fn together(messages: &[Message], cut: usize) -> usize {
    let behind = messages.get(cut).is_some_and(|message| message.speaker == Speaker::Tool);
    if !behind {
        return cut;
    }
    let before = messages.get(..cut).unwrap_or_default();
    before.iter().rposition(|message| message.speaker != Speaker::Tool).unwrap_or(0)
}
