//! An item of a plan, and how large a plan may be: it is part of every state, of the frame that tells of it, and of what reminds a
//! model of it.

use serde::{Deserialize, Serialize};

/// Most items of a plan.
pub const TODOS: usize = 100;
/// Most characters of each text of an item.
pub const TODO_CHARS: usize = 1000;
/// Most bytes of a plan, as JSON: a frame that tells of it is a part of a row.
const BYTES: usize = 64 * 1024;

/// Where an item of a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

/// One item of a plan (agent reference 4; `activeForm` by the seed).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Todo {
    /// What is to be done.
    pub content: String,
    /// Where it stands.
    pub status: TodoStatus,
    /// How it is called while it is being done.
    #[serde(rename = "activeForm", default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// Which item it is, however it is worded by now: for clients that follow one. No model sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// A plan that is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Oversize {
    /// Too many items.
    #[error("has {0} items, more than {TODOS}; sum some of them up")]
    Items(usize),
    /// A text that is too long.
    #[error("has an item with more than {TODO_CHARS} characters in a text; say it shorter")]
    Text,
    /// All of it together.
    #[error("takes {0} bytes as JSON, more than {BYTES}; say it shorter, or sum some items up")]
    Bytes(usize),
}

impl Todo {
    /// An item of these words.
    pub fn new(content: impl Into<String>, status: TodoStatus) -> Self {
        Self { content: content.into(), status, active_form: None, id: None }
    }

    /// Whether a model that wrote one of them knows the other: all but the id is the same.
    pub fn says_as(&self, other: &Self) -> bool {
        (&self.content, self.status, &self.active_form) == (&other.content, other.status, &other.active_form)
    }
}

/// Whether a plan is small enough.
pub fn fits(todos: &[Todo]) -> Result<(), Oversize> {
    if todos.len() > TODOS {
        return Err(Oversize::Items(todos.len()));
    }
    let is_long = |text: &str| text.chars().count() > TODO_CHARS;
    let has_long = |todo: &Todo| {
        let beside = [&todo.active_form, &todo.id];
        is_long(&todo.content) || beside.into_iter().flatten().any(|text| is_long(text))
    };
    if todos.iter().any(has_long) {
        return Err(Oversize::Text);
    }
    // Our own types serialise.
    let bytes = serde_json::to_vec(todos).map_or(0, |json| json.len());
    if bytes > BYTES { Err(Oversize::Bytes(bytes)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_bounded_in_items_in_texts_and_in_all() {
        let todo = |text: &str| Todo::new(text, TodoStatus::Pending);
        assert_eq!(fits(&vec![todo("a"); TODOS]), Ok(()));
        assert_eq!(fits(&vec![todo("a"); TODOS + 1]), Err(Oversize::Items(101)));
        assert_eq!(fits(&[todo(&"ü".repeat(TODO_CHARS))]), Ok(()));
        assert_eq!(fits(&[todo(&"ü".repeat(TODO_CHARS + 1))]), Err(Oversize::Text));
        assert!(matches!(fits(&vec![todo(&"ü".repeat(TODO_CHARS)); TODOS]), Err(Oversize::Bytes(_))));
    }
}
