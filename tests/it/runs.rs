//! Threads and runs at the gateway, with a runner that does what a test says.

mod admission;
mod compact;
mod goals;
mod launcher;
mod owners;
mod results;
mod state;
mod streams;

use serde_json::{Value, json};

/// A request that says something.
fn said(text: &str) -> Value {
    json!({ "assistant_id": "lead_agent", "input": { "messages": [{ "role": "user", "content": text }] } })
}
