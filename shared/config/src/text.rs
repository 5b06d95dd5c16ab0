//! A config as the text of a file.

use serde_json::Value;

use crate::document::Document;
use crate::path::Path;
use crate::problem::{Kind, Problem};

/// What some editors put at the beginning of a UTF-8 file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The JSON of a file. The problem says where it breaks and repeats nothing of it.
pub fn parse_text(bytes: &[u8]) -> Result<Value, Problem> {
    serde_json::from_slice(without_mark(bytes)).map_err(|error| {
        let what = if error.is_eof() { "it ends too early" } else { "a syntax error" };
        let message = format!("is not JSON: {what} at line {}, column {}", error.line(), error.column());
        Problem::new(Kind::Shape, &Path::default(), message)
    })
}

pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

impl Document {
    /// The text for a file of the operator: as it was given, indented by two spaces, with literal secrets.
    pub fn expose_text(&self) -> String {
        // The alternate form of a value is JSON over several lines.
        format!("{:#}\n", self.expose_raw())
    }
}
