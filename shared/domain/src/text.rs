//! Cutting text without breaking it: the bounds on errors and previews (reference 6.8, DESIGN "The table").

use serde::{Deserialize, Serialize};

/// Most bytes of any error that the hot row keeps, so that it stays under one write unit.
pub const SNIPPET_BYTES: usize = 200;

/// The first [`SNIPPET_BYTES`] bytes of an error, cut at a character.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Snippet(String);

impl Snippet {
    /// Cuts `text` to at most [`SNIPPET_BYTES`] bytes.
    pub fn of(text: &str) -> Self {
        let mut end = text.len().min(SNIPPET_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self(text.get(..end).unwrap_or_default().to_owned())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The first `max` characters of `text`.
pub fn first_chars(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}
