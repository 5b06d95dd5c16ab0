//! The bulky half of a task: bounded once, here, before anything is stored (reference 6.8).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::policy::Policy;
use crate::snapshot::{Artifact, Snapshot, Status};
use crate::text::first_chars;

/// Most characters of a remote error that are kept.
pub const ERROR_CHARS: usize = 4000;
/// Most bytes of an artifact or an input request, as compact JSON.
pub const PART_BYTES: usize = 65_536;

/// What a task brought back: result or preview, artifact, question, error.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// The whole result, if it is within the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The beginning of a result over the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_preview: Option<String>,
    /// Whether the result was over the limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub result_truncated: bool,
    /// A result kept at the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_artifact: Option<Artifact>,
    /// The server's error, at most [`ERROR_CHARS`] characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The server's question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_required: Option<Value>,
}

/// A payload that breaks the protocol: it ends the task on a poll and the submission on a submit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// `result_artifact` or `input_required` is too large.
    #[error("{part} payload exceeds the {PART_BYTES}-byte limit")]
    TooLarge {
        /// Which part.
        part: &'static str,
    },
    /// The status says that input is required, but there is no question.
    #[error("status input_required requires an input_required payload")]
    NoQuestion,
}

impl Payload {
    /// Bounds what a snapshot carries.
    pub fn bounded(snapshot: Snapshot, policy: &Policy) -> Result<Self, PayloadError> {
        if snapshot.status == Status::InputRequired && snapshot.input_required.is_none() {
            return Err(PayloadError::NoQuestion);
        }
        if let Some(artifact) = &snapshot.artifact
            && json_len(artifact) > PART_BYTES
        {
            return Err(PayloadError::TooLarge { part: "result_artifact" });
        }
        if let Some(question) = &snapshot.input_required
            && json_len(question) > PART_BYTES
        {
            return Err(PayloadError::TooLarge { part: "input_required" });
        }
        let mut payload = Self {
            result_artifact: snapshot.artifact,
            error: snapshot.error.map(|e| first_chars(&e, ERROR_CHARS).to_owned()),
            input_required: snapshot.input_required,
            ..Self::default()
        };
        if let Some(result) = snapshot.result {
            payload.keep_result(result, policy);
        }
        Ok(payload)
    }

    /// A payload that is nothing but an error.
    pub fn of_error(error: &str) -> Self {
        Self { error: Some(first_chars(error, ERROR_CHARS).to_owned()), ..Self::default() }
    }

    /// A digest of the content, or none when there is no content and so no row: it lets a poll see that nothing changed
    /// without reading the row.
    pub fn digest(&self) -> Option<String> {
        if *self == Self::default() {
            return None;
        }
        let json = serde_json::to_vec(self).unwrap_or_default();
        Some(hex::encode(Sha256::digest(json)).chars().take(16).collect())
    }

    fn keep_result(&mut self, result: Value, policy: &Policy) {
        let compact = result.to_string();
        if compact.len() <= policy.max_result_bytes {
            self.result = Some(result);
            return;
        }
        // The preview of a string is the string itself, so that it does not begin with a quote.
        let text = result.as_str().unwrap_or(&compact);
        self.result_preview = Some(first_chars(text, policy.result_preview_chars).to_owned());
        self.result_truncated = true;
    }
}

fn json_len(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |json| json.len())
}

#[cfg(test)]
mod tests;
