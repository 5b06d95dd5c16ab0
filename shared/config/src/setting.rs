//! A configured string that is a literal or the name of a variable, and how the name becomes a value.
//!
//! Rule (reference 1.10): a string whose first character is `$` names a variable by its whole remainder; there is no
//! partial interpolation. Beyond the reference: `$$` at the start is a literal `$` (a password may begin with one); a
//! remainder that is no variable name is an error (it would be a literal password by mistake, and be shown); an unset
//! variable is an error that names it, where the reference silently sends the empty string: a missing credential
//! must fail closed.

use std::collections::BTreeSet;
use std::fmt;

use secrecy::SecretString;
use serde_json::Value;

/// A configured string: a literal, or `$VAR`. `Debug` shows a reference and hides a literal.
#[derive(Clone, PartialEq, Eq)]
pub struct Setting(String);

/// Where `$VAR` gets its value: the environment on one machine, parameters under one prefix in the cloud.
pub trait Secrets: Send + Sync {
    /// The value of `name`, or `None` when nothing of that name is set.
    fn get(&self, name: &str) -> Option<SecretString>;

    /// Whether what [`Secrets::get`] says of `name` is so: false when the source was not reached yet, and nothing can be
    /// said about the variable.
    fn is_known(&self, _name: &str) -> bool {
        true
    }
}

/// A [`Secrets`] in which nothing is set.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSecrets;

/// Why a setting has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// Nothing of that name is set. The reference uses the empty string here (1.10); that hides a missing credential.
    #[error("the variable {name} is not set; set it where Pudu reads its secrets")]
    Unset {
        /// The name without the `$`.
        name: String,
    },
    /// Where it is read was not reached.
    #[error("the variable {name} could not be read right now; try again")]
    Unread {
        /// The name without the `$`.
        name: String,
    },
    /// The name belongs to the platform or to Pudu.
    #[error(
        "the variable refers to a reserved name; names that begin with AWS_, LAMBDA_, PUDU_ or _ are never resolved"
    )]
    Reserved,
    /// The text after `$` is not a variable name. It is not shown: it may be a password.
    #[error(
        "the value begins with $ but names no variable; write $NAME without braces, or $$ for a literal dollar sign"
    )]
    Malformed,
}

/// How a text is read.
pub(crate) enum Reading<'a> {
    /// The literal value, unescaped.
    Literal(&'a str),
    /// A variable's name.
    Reference(&'a str),
    Reserved,
    Malformed,
}

/// Reads a text by the rule at the head of this file.
pub(crate) fn read(text: &str) -> Reading<'_> {
    let Some(name) = text.strip_prefix('$') else { return Reading::Literal(text) };
    if name.starts_with('$') {
        return Reading::Literal(name);
    }
    let word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if name.is_empty() || !word || name.starts_with(|first: char| first.is_ascii_digit()) {
        Reading::Malformed
    } else if ["AWS_", "LAMBDA_", "PUDU_", "_"].iter().any(|prefix| name.starts_with(prefix)) {
        Reading::Reserved
    } else {
        Reading::Reference(name)
    }
}

/// Whether `text` is a reference that may stay readable in stored and shown forms.
pub(crate) fn is_reference(text: &str) -> bool {
    matches!(read(text), Reading::Reference(_))
}

/// Adds the name of every variable that a string in `value` stands for, whatever place it is at: which places are resolved
/// is not known here, and a name too many costs nothing.
pub(crate) fn collect_references(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            if let Reading::Reference(name) = read(text) {
                names.insert(name.to_owned());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, names)),
        Value::Object(map) => map.values().for_each(|item| collect_references(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Setting {
    /// A setting of the raw text, as it stands in the file.
    pub fn new(raw: impl Into<String>) -> Self {
        Self(raw.into())
    }

    /// The variable's name, when this is a reference.
    pub fn reference(&self) -> Option<&str> {
        match read(&self.0) {
            Reading::Reference(name) => Some(name),
            _ => None,
        }
    }

    /// The literal value, unescaped, when this is a literal. It may be a secret.
    pub fn expose_literal(&self) -> Option<&str> {
        match read(&self.0) {
            Reading::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// The value to use now. Reserved names are refused before `secrets` is asked.
    pub fn resolve(&self, secrets: &dyn Secrets) -> Result<SecretString, ResolveError> {
        match read(&self.0) {
            Reading::Literal(value) => Ok(SecretString::from(value)),
            Reading::Reference(name) => {
                let name = name.to_owned();
                match secrets.get(&name) {
                    Some(value) => Ok(value),
                    None if secrets.is_known(&name) => Err(ResolveError::Unset { name }),
                    None => Err(ResolveError::Unread { name }),
                }
            }
            Reading::Reserved => Err(ResolveError::Reserved),
            Reading::Malformed => Err(ResolveError::Malformed),
        }
    }

    /// Why this setting can never have a value, if it cannot.
    pub(crate) fn flaw(&self) -> Option<ResolveError> {
        match read(&self.0) {
            Reading::Literal(_) | Reading::Reference(_) => None,
            Reading::Reserved => Some(ResolveError::Reserved),
            Reading::Malformed => Some(ResolveError::Malformed),
        }
    }
}

impl Secrets for NoSecrets {
    fn get(&self, _name: &str) -> Option<SecretString> {
        None
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reference() {
            Some(name) => write!(f, "${name}"),
            None => f.write_str("***"),
        }
    }
}

#[cfg(test)]
mod tests;
