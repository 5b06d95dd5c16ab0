//! What a thread is told when a task needs attention: the content of one event (reference 7.1).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::ids::{TaskId, TaskName};
use crate::payload::Payload;
use crate::snapshot::{Artifact, Status};

/// The eleven fields of an event, in the order and under the names of the reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The local id.
    pub task_id: TaskId,
    /// The toolset's name.
    pub task_name: TaskName,
    /// Where the task stood when the event was made.
    pub status: Status,
    /// The result, if it is within the limit.
    pub result: Option<Value>,
    /// The beginning of a larger one.
    pub result_preview: Option<String>,
    /// Whether the result was over the limit.
    pub result_truncated: bool,
    /// A result kept at the server.
    pub result_artifact: Option<Artifact>,
    /// The server's error.
    pub error: Option<String>,
    /// The server's question.
    pub input_required: Option<Value>,
    /// Whether the server has not answered for several polls.
    pub tracking_degraded: bool,
    /// Why not; only while degraded.
    pub last_poll_error: Option<String>,
}

/// Tells whether two events say the same. Sixteen hex digits of a SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// A fingerprint as it was stored.
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Event {
    /// Puts an event together.
    pub fn new(
        task_id: TaskId,
        task_name: TaskName,
        status: Status,
        payload: Payload,
        degraded: Option<String>,
    ) -> Self {
        Self {
            task_id,
            task_name,
            status,
            result: payload.result,
            result_preview: payload.result_preview,
            result_truncated: payload.result_truncated,
            result_artifact: payload.result_artifact,
            error: payload.error,
            input_required: payload.input_required,
            tracking_degraded: degraded.is_some(),
            last_poll_error: degraded,
        }
    }

    /// The fingerprint of everything but `last_poll_error`: a server that fails in ever new words is one event, not a
    /// storm of them (the reference makes one per wording).
    pub fn fingerprint(&self) -> Fingerprint {
        let quiet = Self { last_poll_error: None, ..self.clone() };
        Fingerprint(serde_json::to_value(&quiet).map(|value| digest(&value)).unwrap_or_default())
    }
}

/// Sixteen hex digits of a SHA-256 over the content of `value`, whatever the order of its keys.
pub(crate) fn digest(value: &Value) -> String {
    hex::encode(Sha256::digest(canonical(value))).chars().take(16).collect()
}

/// Compact JSON with sorted keys: the map's own order depends on features that other crates turn on.
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let body: Vec<String> = entries
                .into_iter()
                .map(|(k, v)| format!("{}:{}", Value::from(k.as_str()), canonical(v)))
                .collect();
            format!("{{{}}}", body.join(","))
        }
        Value::Array(items) => {
            let body: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", body.join(","))
        }
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::time::Timestamp;

    fn event(payload: Payload, degraded: Option<&str>) -> Event {
        let id = TaskId::new(Timestamp::from_millis(1), [0; 10]);
        Event::new(
            id,
            TaskName::parse("report").unwrap(),
            Status::Working,
            payload,
            degraded.map(str::to_owned),
        )
    }

    #[test]
    fn an_event_has_exactly_eleven_keys() {
        let value = serde_json::to_value(event(Payload::default(), None)).unwrap();
        assert_eq!(value.as_object().map(serde_json::Map::len), Some(11));
    }

    #[test]
    fn the_wording_of_a_poll_error_is_not_news_but_degradation_is() {
        let (a, b) =
            (event(Payload::default(), Some("refused")), event(Payload::default(), Some("timed out")));
        assert_eq!(a.fingerprint(), b.fingerprint());
        assert_ne!(a.fingerprint(), event(Payload::default(), None).fingerprint());
    }

    #[test]
    fn key_order_is_not_news() {
        let with = |question| Payload { input_required: Some(question), ..Payload::default() };
        let (a, b) = (event(with(json!({"a": 1, "b": 2})), None), event(with(json!({"b": 2, "a": 1})), None));
        assert_eq!(a.fingerprint(), b.fingerprint());
    }
}
