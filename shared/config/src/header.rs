//! Which header names and values may be sent (reference 5.2). The one predicate for static headers, OAuth values,
//! per-user and per-request credentials. Never shows the value: a transport error would echo it to a model.

mod set;

pub use set::{Headers, IllegalHeader, MAX_HEADERS};

/// Why a header value may not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Illegal {
    /// A character above U+007F.
    #[error("it has a character outside ASCII")]
    OutsideAscii,
    /// NUL, LF, VT, FF or CR.
    #[error("it has a line break or a forbidden control character")]
    LineBreak,
    /// A space or tab at either end.
    #[error("it has leading or trailing whitespace")]
    Whitespace,
}

/// The first reason, in the order of reference 5.2, why `value` may not be sent; `None` when it may.
/// The empty string, interior tabs and the other control characters are legal.
pub fn illegal_value(value: &str) -> Option<Illegal> {
    if !value.is_ascii() {
        return Some(Illegal::OutsideAscii);
    }
    if value.contains(['\0', '\n', '\u{b}', '\u{c}', '\r']) {
        return Some(Illegal::LineBreak);
    }
    let edge = [' ', '\t'];
    (value.starts_with(edge) || value.ends_with(edge)).then_some(Illegal::Whitespace)
}

/// Whether `name` is a token of RFC 9110, as every HTTP client demands.
pub fn legal_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests;
