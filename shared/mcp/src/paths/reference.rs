//! Whether a reference is one to a file here.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;

/// A reference to a file of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Local<'a> {
    /// Its path, absolute or not.
    pub path: Cow<'a, Path>,
    /// What follows the path in a URI: query and fragment, with their mark; often empty.
    pub rest: &'a str,
}

/// Reads `reference`: a `file:` URI (its host does not count, its path is decoded once), or a path as it stands. `None`
/// for the empty text, for another scheme, and for what no path can be.
pub fn local(reference: &str) -> Option<Local<'_>> {
    let Some(scheme) = scheme(reference) else {
        let path = Cow::Borrowed(Path::new(reference));
        return (!reference.is_empty() && !reference.contains('\0')).then_some(Local { path, rest: "" });
    };
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let after = reference.get(scheme.len() + 1..)?;
    let (uri, rest) = after.split_at(after.find(['?', '#']).unwrap_or(after.len()));
    let path = match uri.strip_prefix("//") {
        Some(behind_host) => behind_host.get(behind_host.find('/')?..)?,
        None => uri,
    };
    let bytes = Cow::<[u8]>::from(percent_decode_str(path));
    if bytes.is_empty() || bytes.contains(&0) {
        return None;
    }
    Some(Local { path: Cow::Owned(PathBuf::from(OsStr::from_bytes(&bytes))), rest })
}

/// The scheme that a URI begins with. `a/b:c` has none: its colon comes behind a slash.
fn scheme(reference: &str) -> Option<&str> {
    let (scheme, _) = reference.split_once(':')?;
    let mut letters = scheme.chars();
    let begins = letters.next().is_some_and(|c| c.is_ascii_alphabetic());
    (begins && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))).then_some(scheme)
}
