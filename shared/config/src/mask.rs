//! Hides what must not leave (reference 5.10). `$VAR` stays readable: it is a name, not a secret.

use std::convert::Infallible;

use serde_json::Value;

use crate::sensitive::{Edit, Place, walk_document};
use crate::setting::is_reference;

/// What stands for a hidden value; sent back, it means "as it is".
pub const MASK: &str = "***";

/// How OAuth secrets are hidden.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// As null, which the clients of the reference expect.
    Shown,
    /// As `***` like everything else, to compare two masked documents.
    Compared,
}

/// Hides every literal at the sensitive places of a document.
pub(crate) fn mask(document: &mut Value, style: Style) {
    let walked: Result<(), Infallible> = walk_document(document, &mut |place, value| {
        if stays_readable(place, value) {
            return Ok(Edit::Keep);
        }
        let null = style == Style::Shown && place.shown_as_null;
        Ok(Edit::Replace(if null { Value::Null } else { MASK.into() }))
    });
    match walked {
        Ok(()) => {}
    }
}

/// A `$VAR` of its own; the parts of a URL are never references.
pub(crate) fn stays_readable(place: &Place<'_>, value: &Value) -> bool {
    place.part.is_none() && value.as_str().is_some_and(is_reference)
}

#[cfg(test)]
mod tests;
