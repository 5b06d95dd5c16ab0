//! Results of tools that are too long to be said: kept whole as blobs of their thread, and read back in parts.
//!
//! A result's name is its blob's digest, so keeping one twice is keeping it once, and whoever has a name has exactly that text.
//! They are no part of a state: a message says by what name its whole text is known ([`note`]). Like every blob they go with
//! their thread.

use std::sync::Arc;

use pudu_domain::ThreadKey;
use pudu_domain::chat::Message;
use serde_json::{Value, json};

use super::checkpoints;
use crate::ports::{BlobError, Blobs, is_digest};

/// What a blob begins with that is a result; a state's begins with a brace.
const HEADER: &str = "tool result 1\n";
/// Of a message's `additional_kwargs`: where its whole text is.
const NOTED: &str = "saved_result";

/// The results of all threads.
#[derive(Clone)]
pub struct Results(Arc<dyn Blobs>);

/// A part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The characters that were asked for, as many as there are.
    pub text: String,
    /// How many it has, all in all.
    pub chars: usize,
}

impl Results {
    /// Over this store.
    pub fn new(blobs: Arc<dyn Blobs>) -> Self {
        Self(blobs)
    }

    /// Keeps `text` and returns the name by which it is read.
    pub async fn keep(&self, thread: &ThreadKey, text: &str) -> Result<String, BlobError> {
        checkpoints::put(self.0.as_ref(), thread, [HEADER, text].concat().into_bytes()).await
    }

    /// `most` characters of the result of that name, from character `from` on. None if the thread has no such result.
    pub async fn part(
        &self,
        thread: &ThreadKey,
        name: &str,
        from: usize,
        most: usize,
    ) -> Result<Option<Part>, BlobError> {
        let bytes = if is_digest(name) { self.0.get(thread, name).await? } else { None };
        let text = bytes.as_deref().and_then(text);
        Ok(text.map(|text| Part {
            text: text.chars().skip(from).take(most).collect(),
            chars: text.chars().count(),
        }))
    }

    /// Gives another thread the result of that name too; one that is not there is left out.
    pub(super) async fn copy(&self, from: &ThreadKey, to: &ThreadKey, name: &str) -> Result<(), BlobError> {
        let bytes = if is_digest(name) { self.0.get(from, name).await? } else { None };
        match bytes.filter(|bytes| text(bytes).is_some()) {
            Some(bytes) => self.0.put(to, name, bytes).await,
            None => Ok(()),
        }
    }
}

/// Notes on a message by what name its whole text of `chars` characters is known, and what kind of text it is.
pub fn note(message: &mut Message, name: &str, chars: usize, kind: &str) {
    let noted = json!({ "result": name, "chars": chars, "kind": kind });
    message.additional_kwargs.insert(NOTED.to_owned(), noted);
}

/// By what name the whole text of a message is known, if it was kept.
pub fn noted(message: &Message) -> Option<&str> {
    message.additional_kwargs.get(NOTED)?.get("result").and_then(Value::as_str)
}

/// The result in a blob; none if the blob is something else.
fn text(blob: &[u8]) -> Option<&str> {
    std::str::from_utf8(blob).ok()?.strip_prefix(HEADER)
}
