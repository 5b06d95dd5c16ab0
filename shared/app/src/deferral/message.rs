//! Which words of a conversation promote tools: those that its user wrote last, and nobody else's.

/// Who a message is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The user wrote it.
    User,
    /// It sums up older messages in the user's place.
    Summary,
    /// It was put in the user's place and is not shown.
    Hidden,
    /// It is a model's or a tool's.
    Other,
}

/// A message of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Whose it is.
    pub origin: Origin,
    /// Its text as the model gets it.
    pub text: &'a str,
    /// Its text as the user wrote it, where something was added to it.
    pub original: Option<&'a str>,
}

/// What the user wrote last.
pub(super) fn latest_of_user<'m>(messages: impl DoubleEndedIterator<Item = Message<'m>>) -> Option<&'m str> {
    let mut latest = messages.rev().filter(|message| message.origin == Origin::User);
    latest.next().map(|message| message.original.unwrap_or(message.text))
}

/// A text as it is compared: without case. Upper case first, so that `ß` and `SS` are one.
pub(super) fn folded(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}
