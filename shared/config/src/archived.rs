//! A config as it once was in force. It is looked at and compared as it is; only what is valid by today's rules comes back.

use std::fmt;

use serde_json::Value;

use crate::document::Document;
use crate::mask::{self, Style};
use crate::problem::Problem;

/// A config of the past, with its secrets in the clear.
#[derive(Clone, PartialEq)]
pub struct Archived(Value);

impl Archived {
    pub(crate) const fn new(raw: Value) -> Self {
        Self(raw)
    }

    pub(crate) const fn raw(&self) -> &Value {
        &self.0
    }

    /// The raw JSON with every literal at a sensitive place as `***`; `$VAR` stays (reference 5.10).
    pub fn masked(&self) -> Value {
        let mut shown = self.0.clone();
        mask::mask(&mut shown, Style::Shown);
        shown
    }

    /// The config, by today's rules. Errors: as of [`Document::parse`].
    pub fn into_document(self) -> Result<Document, Vec<Problem>> {
        Document::parse(self.0)
    }
}

impl From<Document> for Archived {
    fn from(document: Document) -> Self {
        Self(document.expose_raw().clone())
    }
}

impl fmt::Debug for Archived {
    // By hand: it holds literal secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Archived(***)")
    }
}
