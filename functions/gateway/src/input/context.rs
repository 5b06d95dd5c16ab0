//! What a call brings beside its arguments: secrets for `headers_from_context` (reference 5.6, 5.9). They live as long as the
//! call, in a type that does not show them; no error repeats them, because [`Body`](super::Body) tells none of a body.

use std::collections::BTreeMap;

use pudu_app::runs::configured::{MAX_SECRETS, SECRET_BYTES as MAX_BYTES};
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// What a call brings beside its arguments.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Context {
    /// By name, what `headers_from_context` of the tool's server asks for; as long as the call lasts, and never stored. What is
    /// no text counts as not given.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, Value>)]
    pub(crate) secrets: Secrets,
}

/// Its `secrets`: what is no string is not there.
#[derive(Default)]
pub(crate) struct Secrets(pub(crate) BTreeMap<String, SecretString>);

impl<'de> Deserialize<'de> for Secrets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Map::deserialize(deserializer)?;
        let texts = given.into_iter().filter_map(|(key, value)| match value {
            Value::String(text) => Some((key, text)),
            _ => None,
        });
        let mut secrets = BTreeMap::new();
        for (key, text) in texts {
            if secrets.len() == MAX_SECRETS || text.len() > MAX_BYTES || key.len() > MAX_BYTES {
                return Err(Error::custom("more or longer secrets than a call may bring"));
            }
            secrets.insert(key, SecretString::from(text));
        }
        Ok(Self(secrets))
    }
}

#[cfg(test)]
mod tests;
