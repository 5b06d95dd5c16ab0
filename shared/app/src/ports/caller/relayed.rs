//! A call as another MCP client made it: what it has beside tool and arguments goes to the server as it came, and what the server
//! says meanwhile comes back.

use std::sync::OnceLock;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

const PROGRESS: &str = "notifications/progress";
const LOGGED: &str = "notifications/message";
/// The field of `_meta` by which a client of 2026-07-28 asks for log messages.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// What such a caller has for the server, and what it hears.
#[derive(Debug, Default)]
pub struct Relayed {
    /// Parameters of its call beside tool, arguments and `_meta`: its answers to what the server asked (`inputResponses`).
    pub params: Map<String, Value>,
    /// Its `_meta`, without what is about its own connection.
    pub meta: Map<String, Value>,
    /// What its client can do, as it said (`clientCapabilities`).
    pub capabilities: Map<String, Value>,
    /// Its token for progress, if it wants to hear of it.
    pub token: Option<Value>,
    /// Where it hears; a caller that reads too slowly misses what does not fit.
    pub notes: Option<mpsc::Sender<Value>>,
    /// The server's own error (JSON-RPC), if that was its answer.
    pub error: OnceLock<ServerError>,
}

/// A JSON-RPC error of a server itself, not of whoever lets callers in. Its text is in the [`CallError`](super::super::CallError).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// Its code.
    pub code: i64,
    /// What the server requires of the client, if it refused the call for that (-32021).
    pub required: Option<Value>,
}

impl Relayed {
    /// Whether the caller hears of progress.
    pub fn hears_progress(&self) -> bool {
        self.token.is_some() && self.is_heard()
    }

    /// Whether anybody listens (still).
    pub fn is_heard(&self) -> bool {
        self.notes.as_ref().is_some_and(|notes| !notes.is_closed())
    }

    /// Passes on a notification of the server about this call, if the caller asked for such.
    pub fn tell(&self, method: &str, params: &Value) {
        let mut params = params.clone();
        match (method, &mut params, &self.token) {
            // The server knows the call by a token of ours.
            (PROGRESS, Value::Object(fields), Some(token)) => {
                fields.insert("progressToken".to_owned(), token.clone());
            }
            (LOGGED, _, _) if self.meta.contains_key(LOG_LEVEL) => {}
            _ => return,
        }
        if let Some(notes) = &self.notes {
            drop(notes.try_send(json!({"jsonrpc": "2.0", "method": method, "params": params})));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(
        relayed: &Relayed,
        method: &str,
        params: &Value,
        from: &mut mpsc::Receiver<Value>,
    ) -> Option<Value> {
        relayed.tell(method, params);
        from.try_recv().ok()
    }

    #[test]
    fn a_caller_hears_what_it_asked_for_and_under_its_own_token() {
        let (notes, mut from) = mpsc::channel(4);
        let mut relayed = Relayed { notes: Some(notes), ..Relayed::default() };
        let progress = json!({"progressToken": 7, "progress": 1});
        assert_eq!(heard(&relayed, PROGRESS, &progress, &mut from), None, "nobody asked");
        assert_eq!(heard(&relayed, LOGGED, &json!({"level": "info"}), &mut from), None, "nobody asked");
        relayed.token = Some("mine".into());
        relayed.meta.insert(LOG_LEVEL.to_owned(), "info".into());
        let told = heard(&relayed, PROGRESS, &progress, &mut from).unwrap();
        assert_eq!(told["params"], json!({"progressToken": "mine", "progress": 1}));
        let told = heard(&relayed, LOGGED, &json!({"level": "info"}), &mut from).unwrap();
        assert_eq!((&told["method"], &told["params"]), (&json!(LOGGED), &json!({"level": "info"})));
        assert_eq!(heard(&relayed, "notifications/else", &json!({}), &mut from), None);
    }
}
