//! The one place through which every text that leaves this crate goes: known secrets out, control characters out, and
//! a bound on the length.
//!
//! It knows the secrets of one server entry (header values and their parts, user info and query of the URL) and of one
//! call: what its user and its request brought. A server that echoes the credential it was sent (many print the `Authorization` header into their errors) does not leak it.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::HeaderMap;
use percent_encoding::percent_decode_str;
use pudu_app::ports::Caller;
use pudu_config::{Secrets, Server, Transport};
use pudu_domain::text::first_chars;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::credentials;
use crate::stdio;
use crate::target::Target;

/// Most characters of any error text.
pub const MAX_ERROR_CHARS: usize = 500;
const MASK: &str = "***";
/// A shorter secret is replaced only where it stands alone: it would tear up every text otherwise.
const SHORT: usize = 4;
/// The parts of a header value (`token` of `Bearer token`) from this length on are secrets of their own.
const PART: usize = 6;
/// The segments of a secret path from this length on are secrets of their own.
const SEGMENT: usize = 12;

/// What must not be shown of one server entry.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Longest first, so that a secret inside another one does not leave the rest of it.
    secrets: Vec<SecretString>,
}

/// Knows what must not be shown of a call.
pub trait Redacts: Send + Sync {
    /// The redactor of a call to `server` for `caller`.
    fn redactor(&self, server: &Server, caller: &Caller) -> Redactor;
}

impl<S: Secrets> Redacts for S {
    fn redactor(&self, server: &Server, caller: &Caller) -> Redactor {
        Redactor::of_call(server, caller, self)
    }
}

impl Redactor {
    /// The redactor of a server entry. An entry that cannot be resolved has sent nothing, so there is nothing to hide
    /// beyond what could be resolved.
    pub fn of(server: &Server, secrets: &dyn Secrets) -> Self {
        if matches!(server.transport, Transport::Stdio(_)) {
            return Self::default().and(&stdio::hidden(server, secrets));
        }
        Target::of(server, secrets).map(|target| target.redactor).unwrap_or_default()
    }

    /// The redactor of one call: it also knows what its user and its request brought.
    pub fn of_call(server: &Server, caller: &Caller, secrets: &dyn Secrets) -> Self {
        Self::of(server, secrets).and(&credentials::known(server, caller, secrets))
    }

    pub(crate) fn new(url: &Url, headers: &HeaderMap) -> Self {
        let mut found = of_headers(headers);
        for raw in [url.username(), url.password().unwrap_or_default(), url.query().unwrap_or_default()] {
            found.push(raw.to_owned());
            found.push(percent_decode_str(raw).decode_utf8_lossy().into_owned());
        }
        found.extend(basic(url));
        found.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
        let pairs = url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        found.extend(pairs.map(|(_, value)| value.to_owned()));
        Self::default().with(found)
    }

    /// This one, which also knows the path of `url`, and its segments that are too long for a word.
    pub(crate) fn and_path(&self, url: &Url) -> Self {
        let segments = url.path_segments().into_iter().flatten().filter(|segment| segment.len() >= SEGMENT);
        let raw = segments.chain(Some(url.path()).filter(|path| path.len() > 1));
        let both =
            raw.flat_map(|raw| [raw.to_owned(), percent_decode_str(raw).decode_utf8_lossy().into_owned()]);
        self.with(both.collect())
    }

    /// This one, which also knows the values of `headers` and their parts.
    pub(crate) fn and_headers(&self, headers: &HeaderMap) -> Self {
        self.with(of_headers(headers))
    }

    /// This one, which also knows `secrets` and their parts.
    pub(crate) fn and(&self, secrets: &[SecretString]) -> Self {
        let mut found = Vec::new();
        for secret in secrets.iter().map(ExposeSecret::expose_secret) {
            found.push(secret.to_owned());
            found.extend(parts(secret).map(str::to_owned));
        }
        self.with(found)
    }

    /// This one, which also knows what `other` knows.
    pub(crate) fn joined(&self, other: &Self) -> Self {
        self.with(other.secrets.iter().map(|secret| secret.expose_secret().to_owned()).collect())
    }

    /// How many secrets it knows.
    pub(crate) fn len(&self) -> usize {
        self.secrets.len()
    }

    fn with(&self, mut found: Vec<String>) -> Self {
        found.extend(self.secrets.iter().map(|secret| secret.expose_secret().to_owned()));
        found.retain(|secret| !secret.trim().is_empty());
        found.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        found.dedup();
        Self { secrets: found.into_iter().map(SecretString::from).collect() }
    }

    /// `text` without secrets, on one line, at most [`MAX_ERROR_CHARS`] characters. Cutting comes last: the beginning
    /// of a secret must not survive at the cut.
    pub fn text(&self, text: &str) -> String {
        let line: String = self.masked(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        first_chars(line.trim(), MAX_ERROR_CHARS).to_owned()
    }

    /// `text` without secrets, otherwise unchanged.
    pub fn masked(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| without(&text, secret.expose_secret()))
    }
}

impl AsRef<Redactor> for Redactor {
    fn as_ref(&self) -> &Redactor {
        self
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} secrets)", self.secrets.len())
    }
}

/// The user info as it travels: the HTTP client makes a header of it that no config has.
fn basic(url: &Url) -> Option<String> {
    let decoded = |raw: &str| percent_decode_str(raw).decode_utf8_lossy().into_owned();
    let (user, password) = (decoded(url.username()), decoded(url.password().unwrap_or_default()));
    (!user.is_empty() || !password.is_empty()).then(|| BASE64_STANDARD.encode(format!("{user}:{password}")))
}

fn of_headers(headers: &HeaderMap) -> Vec<String> {
    let values: Vec<&str> = headers.values().filter_map(|value| value.to_str().ok()).collect();
    let parts = values.iter().copied().flat_map(parts).map(str::to_owned);
    parts.chain(values.iter().copied().map(str::to_owned)).collect()
}

/// Also the lines of a value: who prints a key of several lines prints each apart, or with `\n` for their ends.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    value.split([' ', '\t', '\r', '\n', '\\', ',', ';', '=', '"', ':']).filter(|part| part.len() >= PART)
}

fn without(text: &str, secret: &str) -> String {
    if secret.len() >= SHORT {
        return text.replace(secret, MASK);
    }
    let word = |c: char| c.is_alphanumeric();
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (at, _) in text.match_indices(secret) {
        let end = at + secret.len();
        let around = (text.get(..at).unwrap_or_default(), text.get(end..).unwrap_or_default());
        let inside = around.0.ends_with(word) || around.1.starts_with(word);
        out.push_str(text.get(done..at).unwrap_or_default());
        out.push_str(if inside { secret } else { MASK });
        done = end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests;
