//! What a parent is told of a child's end (agent reference 3.7): the text for the model, and the fields for clients. Pure.

use pudu_domain::chat::Usage;
use pudu_domain::run::StopReason;
use pudu_domain::state::DelegationStatus;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// Characters of a brief: its beginning, the mark, its end.
const BRIEF: (usize, &str, usize) = (1333, "\n...\n", 662);

/// How a delegation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Completed,
    Failed,
    Cancelled,
    TimedOut,
    /// Its time was over, and nothing was heard of it.
    Unheard,
}

/// The whole of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contract {
    pub(super) status: Status,
    pub(super) stop_reason: Option<StopReason>,
    /// The result, or the error.
    pub(super) text: String,
    pub(super) model: Option<String>,
    pub(super) usage: Option<Usage>,
}

impl Status {
    /// Its word.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::Unheard => "polling_timed_out",
        }
    }

    pub(super) const fn in_ledger(self) -> DelegationStatus {
        match self {
            Self::Completed => DelegationStatus::Completed,
            Self::Failed => DelegationStatus::Failed,
            Self::Cancelled => DelegationStatus::Cancelled,
            Self::TimedOut | Self::Unheard => DelegationStatus::TimedOut,
        }
    }

    /// The event that tells it.
    pub(super) const fn event(self) -> &'static str {
        match self {
            Self::Completed => "task_completed",
            Self::Failed => "task_failed",
            Self::Cancelled => "task_cancelled",
            Self::TimedOut | Self::Unheard => "task_timed_out",
        }
    }
}

impl Contract {
    /// A contract without model and usage. A reason that is none of a subagent's is left out.
    pub(super) fn new(status: Status, stop_reason: Option<StopReason>, text: String) -> Self {
        let stop_reason = stop_reason.filter(|reason| capped(*reason).is_some());
        Self { status, stop_reason, text, model: None, usage: None }
    }

    /// The text that the model gets.
    pub(super) fn content(&self) -> String {
        let text = &self.text;
        let capped =
            self.stop_reason.and_then(capped).map_or_else(String::new, |what| format!(" (capped: {what})"));
        match self.status {
            Status::Completed => format!("Task Succeeded{capped}. Result: {text}"),
            Status::Failed => format!("Task failed{capped}. Error: {text}"),
            Status::Cancelled if text.is_empty() => "Task cancelled by user.".to_owned(),
            Status::Cancelled => format!("Task cancelled by user. Error: {text}"),
            Status::TimedOut => format!("Task timed out. Error: {text}"),
            Status::Unheard => text.clone(),
        }
    }

    /// The fields that go beside it.
    pub(super) fn beside(&self) -> Map<String, Value> {
        let mut fields = Map::from_iter([("subagent_status".to_owned(), json!(self.status.as_str()))]);
        let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
        if let Some(reason) = self.stop_reason {
            put("subagent_stop_reason", json!(reason.as_str()));
        }
        if self.status == Status::Completed {
            put("subagent_result_brief", json!(brief(&self.text)));
            put("subagent_result_sha256", json!(digest(&self.text)));
        } else if !self.text.is_empty() {
            put("subagent_error", json!(brief(&self.text)));
        }
        if let Some(model) = &self.model {
            put("subagent_model_name", json!(model));
        }
        if let Some(usage) = &self.usage {
            put("subagent_token_usage", json!(usage));
        }
        fields
    }
}

/// What of a subagent was used up.
const fn capped(reason: StopReason) -> Option<&'static str> {
    match reason {
        StopReason::TokenCapped => Some("token budget"),
        StopReason::TurnCapped => Some("turn budget"),
        StopReason::LoopCapped => Some("repeated tool-call loop"),
        _ => None,
    }
}

/// The beginning and the end of `text`, at most 2000 characters.
pub(super) fn brief(text: &str) -> String {
    let (head, mark, tail) = BRIEF;
    let count = text.chars().count();
    if count <= head + mark.len() + tail {
        return text.to_owned();
    }
    text.chars().take(head).chain(mark.chars()).chain(text.chars().skip(count - tail)).collect()
}

/// The SHA-256 of `text`, in hex.
pub(super) fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}
