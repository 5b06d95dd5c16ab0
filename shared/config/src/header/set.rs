//! A set of headers that cannot hold two spellings of one name (reference 5.3).
//!
//! With `authorization` from the file and `Authorization` from a credential both would be sent, and a server that reads
//! one value would take the old one. A map from lower-case names would do for HTTP, and would lose the spelling that a
//! stdio server sees in `_meta.headers`.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

use super::{Illegal, illegal_value, legal_name};

/// Most headers of one set: ten times what servers read, and far below the number at which a map of headers panics.
pub const MAX_HEADERS: usize = 1_000;

/// Headers in the order in which they were first set, each name once, ignoring case. `Debug` shows names only.
#[derive(Clone, Default)]
pub struct Headers(Vec<(String, SecretString)>);

/// A header that may not be sent. It shows the name of a header with a legal name, and never a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IllegalHeader {
    /// The name is none; it is not shown, because it may be a whole header line.
    #[error("a header name is not legal")]
    Name,
    /// The value may not be sent.
    #[error("header '{name}' cannot be sent: {reason}")]
    Value {
        /// Its name.
        name: String,
        /// Why.
        reason: Illegal,
    },
    /// There are more than [`MAX_HEADERS`].
    #[error("there are more than {MAX_HEADERS} headers")]
    TooMany,
}

impl Headers {
    /// The value under this name, in any spelling.
    pub fn get(&self, name: &str) -> Option<&SecretString> {
        self.0.iter().find(|(there, _)| there.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Sets a header. Its place and its spelling stay when it is there already, whatever the spelling given.
    pub fn set(&mut self, name: &str, value: SecretString) {
        match self.0.iter_mut().find(|(there, _)| there.eq_ignore_ascii_case(name)) {
            Some((_, there)) => *there = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// These headers with `overrides` on top: one value per name, in the spelling that is here.
    #[must_use]
    pub fn overlaid(&self, overrides: &Self) -> Self {
        let mut all = self.clone();
        for (name, value) in &overrides.0 {
            all.set(name, value.clone());
        }
        all
    }

    /// The first header that may not be sent.
    pub fn check(&self) -> Result<(), IllegalHeader> {
        if self.0.len() > MAX_HEADERS {
            return Err(IllegalHeader::TooMany);
        }
        for (name, value) in &self.0 {
            if !legal_name(name) {
                return Err(IllegalHeader::Name);
            }
            if let Some(reason) = illegal_value(value.expose_secret()) {
                return Err(IllegalHeader::Value { name: name.clone(), reason });
            }
        }
        Ok(())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &SecretString)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl FromIterator<(String, SecretString)> for Headers {
    /// The last value of a name wins, in the spelling of the first.
    fn from_iter<I: IntoIterator<Item = (String, SecretString)>>(headers: I) -> Self {
        let mut all = Self::default();
        for (name, value) in headers {
            all.set(&name, value);
        }
        all
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}
