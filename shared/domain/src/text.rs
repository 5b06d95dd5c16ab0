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

/// `text` on one line: its words with one space between them.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How a text begins, for a title: on one line, at most `max` characters, and three dots where there is more. Empty if it says nothing.
pub fn beginning(text: &str, max: usize) -> String {
    let line = one_line(&text.replace(char::is_control, " "));
    let cut = first_chars(&line, max);
    if cut.len() < line.len() { format!("{}...", cut.trim_end()) } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_one_space_between_words_and_other_characters_stay() {
        assert_eq!(one_line(" how\nmany\r\n\u{a0}deer\u{0}? "), "how many deer\u{0}?");
        assert_eq!(one_line(" \n "), "");
    }

    #[test]
    fn a_beginning_is_one_line_and_says_where_it_was_cut() {
        assert_eq!(beginning(" how\nmany\r\n\tdeer\u{0}? ", 50), "how many deer ?");
        assert_eq!(beginning(&format!("{} yz", "x".repeat(49)), 50), format!("{}...", "x".repeat(49)));
        assert_eq!((beginning("äöü", 3), beginning("äöüß", 3)), ("äöü".to_owned(), "äöü...".to_owned()));
        assert_eq!(beginning(" \n ", 50), "");
    }
}
