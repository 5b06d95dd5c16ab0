//! When two calls, and two turns, count as the same. Pure.

use pudu_config::sha256_hex;
use pudu_domain::chat::ToolCall;
use serde_json::{Map, Value, json};

/// Lines of a file that count as one place.
const BUCKET: u64 = 200;
/// Digits of a turn's key.
const DIGITS: usize = 12;
/// Arguments that say what a call is about.
const SALIENT: [&str; 7] = ["path", "url", "query", "command", "pattern", "glob", "cmd"];

/// The key of everything that a model calls at once, whatever the order.
pub(super) fn of_turn(calls: &[ToolCall]) -> String {
    let mut keys: Vec<String> = calls.iter().map(of_call).collect();
    keys.sort_unstable();
    let mut key = sha256_hex(&json!(keys));
    key.truncate(DIGITS);
    key
}

fn of_call(call: &ToolCall) -> String {
    let about = match call.name.as_str() {
        "read_file" => place(&call.args),
        "write_file" | "str_replace" => json!(call.args),
        _ => {
            let salient = call.args.iter().filter(|(name, _)| SALIENT.contains(&name.as_str()));
            let salient: Map<String, Value> =
                salient.map(|(name, value)| (name.clone(), value.clone())).collect();
            if salient.is_empty() { json!(call.args) } else { Value::Object(salient) }
        }
    };
    format!("{}:{}", call.name, sha256_hex(&about))
}

/// A file and about which lines.
fn place(args: &Map<String, Value>) -> Value {
    let line = |name: &str| args.get(name).and_then(Value::as_u64);
    let bucket = |line: u64| line.saturating_sub(1) / BUCKET;
    let from = bucket(line("start_line").unwrap_or(1));
    json!([args.get("path"), from, line("end_line").map_or(from, bucket)])
}
