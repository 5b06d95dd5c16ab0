//! Threads and runs at the gateway, with a runner that does what a test says.

mod admission;
mod alone;
mod answers;
mod compact;
mod feedback;
mod goals;
mod launcher;
mod owners;
mod replays;
mod results;
mod state;
mod steps;
mod streams;

use serde_json::{Value, json};

/// A request that says something.
fn said(text: &str) -> Value {
    json!({ "assistant_id": "lead_agent", "input": { "messages": [{ "role": "user", "content": text }] } })
}
