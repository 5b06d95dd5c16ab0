//! What the provider is to keep of a call: it keeps nothing that is not marked, and it keeps what comes before a mark.
//!
//! Three of the four marks that may be: at the end of the system's text, which tools stand before; at the end of the user's last
//! turn, for the next call; and at the end of the one before, which the last call marked, because the provider looks back from a
//! mark over twenty blocks only.

use serde_json::{Value, json};

use crate::dialect::set;

/// Puts the marks into a request.
pub(super) fn mark(body: &mut Value) {
    let place = if body.get("system").is_some() { "/system" } else { "/tools" };
    mark_last(body.pointer_mut(place));
    let turns = body.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten();
    let users = turns.filter(|turn| turn.get("role").and_then(Value::as_str) == Some("user"));
    users.rev().take(2).for_each(|turn| mark_last(turn.get_mut("content")));
}

fn mark_last(blocks: Option<&mut Value>) {
    if let Some(last) = blocks.and_then(Value::as_array_mut).and_then(|blocks| blocks.last_mut()) {
        set(last, "cache_control", json!({"type": "ephemeral"}));
    }
}
