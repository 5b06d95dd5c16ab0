//! What the workers said: their logs, line by line, as a log service would count them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acceptance::audit::Version;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// A poller's word for a result that came after its lease, or after a fence.
const DROPPED: &str = "dropped a result: the claim is no longer ours";
/// A notifier's word for the same.
const NOT_OURS: &str = "notification not settled by us";
/// A notifier's word for what it brought to its end.
const SETTLED: &str = "notification settled";

/// Everything that was heard; clones hear the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Words>>);

/// The counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    /// Results that workers brought too late.
    pub(crate) dropped: usize,
    /// Deliveries that notifiers say they made.
    pub(crate) delivered: BTreeMap<Version, usize>,
    /// Warnings, errors, and lines that are no log lines, by their words.
    pub(crate) complaints: BTreeMap<String, usize>,
}

impl Heard {
    /// Listens to a process until it says no more.
    pub(crate) async fn listen(self, log: impl AsyncRead + Unpin) {
        let mut lines = BufReader::new(log).lines();
        // A process that is killed may leave half a line; then there is no next one.
        while let Ok(Some(line)) = lines.next_line().await {
            self.words().take(&line);
        }
    }

    /// What was heard until now.
    pub(crate) fn until_now(&self) -> Words {
        self.words().clone()
    }

    fn words(&self) -> MutexGuard<'_, Words> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Words {
    fn take(&mut self, line: &str) {
        let Ok(said) = serde_json::from_str::<Value>(line) else {
            *self.complaints.entry(line.to_owned()).or_default() += 1;
            return;
        };
        let text = |name: &str| said.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("message") {
            DROPPED => self.dropped += 1,
            NOT_OURS if text("outcome") == "Lost" => self.dropped += 1,
            SETTLED if text("state") == "delivered" => {
                let version = said.get("version").and_then(Value::as_u64).unwrap_or_default();
                let version = u32::try_from(version).unwrap_or(u32::MAX);
                *self.delivered.entry((text("task.id").to_owned(), version)).or_default() += 1;
            }
            message if matches!(text("level"), "WARN" | "ERROR") => {
                let complaint = format!("{} {message}", text("level"));
                *self.complaints.entry(complaint).or_default() += 1;
            }
            _ => {}
        }
    }
}
