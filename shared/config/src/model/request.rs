//! What of an entry goes into a request: its switches for thinking, what is passed on, and its secrets, resolved.

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use super::{Model, Provider};
use crate::setting::{Reading, ResolveError, Secrets, Setting, read};

/// The parts of a model's entry that are only known when it is used. `Debug` shows no secret.
#[derive(Clone, Debug)]
pub struct ResolvedModel {
    /// Where it is; none is its dialect's own address.
    pub base_url: Option<SecretString>,
    /// The credential.
    pub api_key: Option<SecretString>,
    /// More headers, in the order and spelling of the entry.
    pub headers: Vec<(String, SecretString)>,
}

/// What is passed on in a request beside the conversation. It cannot be printed: secrets stand in its fields.
#[derive(Clone)]
pub struct PassedOn {
    /// The fields, variables resolved.
    pub fields: Map<String, Value>,
    /// What was put in for variables: whatever the name of its field, nobody but the provider is shown it.
    pub variables: Vec<SecretString>,
}

/// Why a model cannot be called by its entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// One of its settings has no value.
    #[error(transparent)]
    Unresolved(#[from] ResolveError),
    /// It does not say where the model is, or says it so that nobody can read it. Its key is not shown to somebody else.
    #[error(
        "its entry does not say where it is; set {key}, or its key would go to its client's own provider"
    )]
    NoAddress {
        /// Where it would have to be said.
        key: &'static str,
    },
}

/// Keys whose object is poured into the request instead of being a field of it.
const POURED: &[&str] = &["model_kwargs", "extra_body"];

impl Model {
    /// Its secrets, by the variables that it names, and its address.
    pub fn resolve(&self, secrets: &dyn Secrets) -> Result<ResolvedModel, EntryError> {
        let headers = self.headers.iter().map(|(name, value)| Ok((name.clone(), value.resolve(secrets)?)));
        Ok(ResolvedModel {
            base_url: self.address.resolve(secrets)?,
            api_key: self.api_key.as_ref().map(|key| key.resolve(secrets)).transpose()?,
            headers: headers.collect::<Result<_, ResolveError>>()?,
        })
    }

    /// What goes into the provider's request beside the conversation: unknown keys of the entry, and over them what thinking
    /// takes, or what keeps it from thinking. A model that cannot think is told nothing about it.
    ///
    /// Off, the first of: `when_thinking_disabled`; `extra_body.thinking`, `chat_template_kwargs` or `thinking` turned off in
    /// the place where `when_thinking_enabled` turns it on (agent reference 8).
    pub fn request_extras(&self, thinking: bool, secrets: &dyn Secrets) -> Result<PassedOn, ResolveError> {
        let mut request = Map::new();
        pour(&mut request, &self.extra);
        if self.supports_thinking && thinking {
            pour(&mut request, &self.when_thinking);
        } else if let Some(off) = &self.when_not_thinking {
            pour(&mut request, off);
        } else {
            pour(&mut request, &self.off());
        }
        let mut variables = Vec::new();
        request.values_mut().try_for_each(|value| resolve(value, secrets, &mut variables))?;
        Ok(PassedOn { fields: request, variables })
    }

    fn off(&self) -> Map<String, Value> {
        let on = &self.when_thinking;
        let body = on.get("extra_body");
        let disabled = json!({"type": "disabled"});
        let mut off = Map::new();
        if body.and_then(|body| body.get("thinking")).is_some() {
            off.insert("thinking".into(), disabled);
            if self.supports_reasoning_effort {
                off.insert("reasoning_effort".into(), "minimal".into());
            }
        } else if let Some(Value::Object(flags)) = body.and_then(|body| body.get("chat_template_kwargs")) {
            let flags = flags.keys().filter(|key| key.contains("thinking"));
            let flags: Map<String, Value> = flags.map(|key| (key.clone(), Value::Bool(false))).collect();
            off.insert("chat_template_kwargs".into(), Value::Object(flags));
        } else if on.contains_key("thinking") && self.provider != Provider::Bedrock {
            off.insert("thinking".into(), disabled);
        }
        off
    }
}

/// Puts `more` into `request`, objects field by field, so that two places may each say a part of one.
fn pour(request: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more {
        match (request.get_mut(key), value) {
            (_, Value::Object(inner)) if POURED.contains(&key.as_str()) => pour(request, inner),
            (Some(Value::Object(there)), Value::Object(inner)) => pour(there, inner),
            _ => {
                request.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Puts the values of variables in their places.
fn resolve(
    value: &mut Value,
    secrets: &dyn Secrets,
    variables: &mut Vec<SecretString>,
) -> Result<(), ResolveError> {
    match value {
        // A text that begins with a dollar sign and names no variable is what it is: not everything here is a setting.
        Value::String(text) => {
            if matches!(read(text), Reading::Reference(_) | Reading::Reserved) {
                let found = Setting::new(text.as_str()).resolve(secrets)?;
                found.expose_secret().clone_into(text);
                variables.push(found);
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| resolve(item, secrets, variables)),
        Value::Object(map) => map.values_mut().try_for_each(|item| resolve(item, secrets, variables)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}
