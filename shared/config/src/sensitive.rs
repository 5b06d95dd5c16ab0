//! The one list of sensitive places, as a walk over them (reference 5.10, and beyond it: URL user info and
//! secret-looking query parameters, and what arguments give away). Masking, merging, sealing and validation are all built on it, so that no place
//! can be known to one and forgotten by another.

pub(crate) mod arguments;
mod key;
pub(crate) mod url_parts;

use std::convert::Infallible;
use std::fmt;

use serde_json::{Map, Value};

pub use arguments::argument_secrets;
pub use key::is_sensitive_key;

use crate::document::{INTERCEPTORS, SERVERS};
use crate::mask::MASK;
use crate::model::{ADDRESSES, HEADERS, MODELS};
use crate::path::{Path, Step};
use crate::problem::{Kind, Problem};
use crate::server::{DECLARED, credentials, oauth};
use arguments::{Arguments, Secret};
use url_parts::{Part, UrlParts};

/// What sealed values begin with; a literal that begins so is refused.
pub(crate) const SEALED: &str = "sealed:";

/// One sensitive place. Its text is unique in a document.
pub(crate) struct Place<'a> {
    /// The JSON string or number.
    pub(crate) path: &'a Path,
    /// When only a part of the string is sensitive: it is a URL or an argument, and never a `$VAR`.
    pub(crate) part: Option<&'a Part>,
    /// An OAuth secret is shown as null instead of `***`.
    pub(crate) shown_as_null: bool,
}

/// What becomes of the value at a place.
pub(crate) enum Edit {
    Keep,
    Replace(Value),
}

/// Visits the sensitive places of a whole document, in its order, until the first error.
pub(crate) fn walk_document<E>(
    document: &mut Value,
    visit: &mut dyn FnMut(&Place<'_>, &Value) -> Result<Edit, E>,
) -> Result<(), E> {
    let mut walk = Walk { path: Path::default(), visit, shown_as_null: false };
    walk.children(document, |walk, key, value| match key {
        SERVERS => walk.children(value, |walk, _, entry| walk.server(entry)),
        MODELS => walk.models(value),
        "middlewares" | INTERCEPTORS => Ok(()),
        // A skill's name is no field name.
        "skills" => walk.children(value, |walk, _, skill| walk.by_key(skill)),
        _ => walk.extra(key, value),
    })
}

/// Whether a text at no particular place is looked into as a URL is. Also one whose `://` was inside a secret that is sealed
/// or masked by now: what was cut once must be cut at the same places again.
fn is_cut(text: &str) -> bool {
    let ours = |secret: &str| secret.starts_with(SEALED) || secret.split(':').any(|half| half == MASK);
    text.contains("://") || UrlParts::of(text).secrets().any(|(_, secret)| ours(secret))
}

/// Whether an extra of this value has a sensitive place.
fn mentions_secret(value: &mut Value) -> bool {
    let mut found = false;
    let mut visit = |_: &Place<'_>, _: &Value| -> Result<Edit, Infallible> {
        found = true;
        Ok(Edit::Keep)
    };
    let mut walk = Walk { path: Path::default(), visit: &mut visit, shown_as_null: false };
    match walk.by_key(value) {
        Ok(()) => found,
    }
}

/// What must not be shown of `fields`, which a model's entry passes on to its provider: what is under telling names and in
/// headers, at any depth, and what URLs give away; of user info also each half, which may be told alone.
pub fn passed_on_secrets(fields: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    let mut visit = |place: &Place<'_>, value: &Value| -> Result<Edit, Infallible> {
        let secret = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if matches!(place.part, Some(Part::UserInfo)) {
            found.extend(
                secret
                    .split_once(':')
                    .into_iter()
                    .flat_map(|(user, password)| [user, password].map(str::to_owned)),
            );
        }
        found.push(secret);
        Ok(Edit::Keep)
    };
    let mut walk = Walk { path: Path::default(), visit: &mut visit, shown_as_null: false };
    match walk.children(&mut Value::Object(fields.clone()), Walk::of_model) {
        Ok(()) => found,
    }
}

/// Problems with literals that cannot be told from our own forms: `***`, and what begins like a sealed value.
pub(crate) fn misplaced(document: &mut Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    let walked: Result<(), Infallible> = walk_document(document, &mut |place, value| {
        let text = value.as_str().unwrap_or_default();
        let of_url = matches!(place.part, Some(Part::UserInfo | Part::Query { .. }));
        let masked = text == MASK || (of_url && text.split(':').any(|half| half == MASK));
        let problem = if masked {
            Some((Kind::Mask, "holds the placeholder *** and no value is stored here; send the value itself"))
        } else if text.starts_with(SEALED) {
            Some((Kind::Rule, "must not begin with 'sealed:'"))
        } else {
            None
        };
        if let Some((kind, message)) = problem {
            problems.push(Problem::at(kind, place.to_string(), message.to_owned()));
        }
        Ok(Edit::Keep)
    });
    match walked {
        Ok(()) => problems,
    }
}

struct Walk<'v, E> {
    path: Path,
    visit: &'v mut dyn FnMut(&Place<'_>, &Value) -> Result<Edit, E>,
    shown_as_null: bool,
}

impl<E> Walk<'_, E> {
    fn server(&mut self, entry: &mut Value) -> Result<(), E> {
        self.children(entry, |walk, key, value| match key {
            "env" | "headers" => walk.everything(value),
            "oauth" => walk.children(value, |walk, key, value| match key {
                secret if oauth::SECRETS.contains(&secret) => {
                    walk.shown_as_null = true;
                    let walked = walk.everything(value);
                    walk.shown_as_null = false;
                    walked
                }
                "extra_token_params" => walk.everything(value),
                "token_url" => walk.url(value),
                _ => walk.unless_declared(oauth::DECLARED, key, value),
            }),
            "user_auth" => walk.children(value, |walk, key, value| match key {
                "users" => walk.everything(value),
                _ => walk.unless_declared(credentials::USER_AUTH, key, value),
            }),
            "headers_from_context" => walk.children(value, |walk, key, value| {
                walk.unless_declared(credentials::FROM_CONTEXT, key, value)
            }),
            "url" => walk.url(value),
            "args" => walk.arguments(value),
            // Keyed by tool names, which are no field names.
            "tools" => walk.children(value, |walk, _, given| {
                walk.children(given, |walk, key, value| walk.unless_declared(&["routing"], key, value))
            }),
            _ => walk.unless_declared(DECLARED, key, value),
        })
    }

    fn models(&mut self, value: &mut Value) -> Result<(), E> {
        let Value::Array(entries) = value else { return self.by_key(value) };
        self.elements(entries, |walk, entry| {
            walk.children(entry, |walk, key, value| match key {
                _ if ADDRESSES.contains(&key) => walk.url(value),
                _ => walk.of_model(key, value),
            })
        })
    }

    /// A field of a model's entry, at any depth: what is passed on to a provider may have headers for others in it.
    fn of_model(&mut self, key: &str, value: &mut Value) -> Result<(), E> {
        if HEADERS.contains(&key) || is_sensitive_key(key) {
            return self.everything(value);
        }
        match value {
            Value::Object(_) => self.children(value, Self::of_model),
            Value::Array(items) => self.elements(items, |walk, item| walk.of_model("", item)),
            _ => self.by_key(value),
        }
    }

    fn unless_declared(&mut self, declared: &[&str], key: &str, value: &mut Value) -> Result<(), E> {
        if declared.contains(&key) { Ok(()) } else { self.extra(key, value) }
    }

    fn extra(&mut self, key: &str, value: &mut Value) -> Result<(), E> {
        if is_sensitive_key(key) { self.everything(value) } else { self.by_key(value) }
    }

    /// Extras below a harmless key: each key speaks for itself, and URLs are looked into.
    fn by_key(&mut self, value: &mut Value) -> Result<(), E> {
        match value {
            Value::Object(_) => self.children(value, Self::extra),
            Value::Array(items) => self.elements(items, Self::by_key),
            Value::String(text) if is_cut(text) => self.url(value),
            _ => Ok(()),
        }
    }

    /// Every string and number at or below `value`. True, false and null tell nothing.
    fn everything(&mut self, value: &mut Value) -> Result<(), E> {
        match value {
            Value::Object(_) => self.children(value, |walk, _, inner| walk.everything(inner)),
            Value::Array(items) => self.elements(items, Self::everything),
            Value::String(_) | Value::Number(_) => {
                let place = Place { path: &self.path, part: None, shown_as_null: self.shown_as_null };
                if let Edit::Replace(other) = (self.visit)(&place, value)? {
                    *value = other;
                }
                Ok(())
            }
            Value::Bool(_) | Value::Null => Ok(()),
        }
    }

    fn arguments(&mut self, value: &mut Value) -> Result<(), E> {
        let Value::Array(items) = value else { return self.by_key(value) };
        let mut arguments = Arguments::default();
        self.elements(items, |walk, item| match arguments.next(item.as_str().unwrap_or_default()).secret {
            Secret::None => walk.by_key(item),
            Secret::Whole => walk.everything(item),
            Secret::From { at, name } => walk.end(item, at, name),
        })
    }

    /// The end of a text, from `at` on.
    fn end(&mut self, value: &mut Value, at: usize, name: String) -> Result<(), E> {
        let Some((plain, secret)) = value.as_str().and_then(|text| text.split_at_checked(at)) else {
            return Ok(());
        };
        let part = Part::Argument { name };
        let place = Place { path: &self.path, part: Some(&part), shown_as_null: false };
        if let Edit::Replace(Value::String(other)) = (self.visit)(&place, &Value::from(secret))? {
            *value = format!("{plain}{other}").into();
        }
        Ok(())
    }

    fn url(&mut self, value: &mut Value) -> Result<(), E> {
        let Value::String(text) = value else { return self.by_key(value) };
        let mut parts = UrlParts::of(text);
        for (part, secret) in parts.secrets_mut() {
            let place = Place { path: &self.path, part: Some(part), shown_as_null: false };
            let edit = (self.visit)(&place, &Value::from(secret.as_str()))?;
            if let Edit::Replace(Value::String(other)) = edit {
                *secret = other;
            }
        }
        *text = parts.joined();
        Ok(())
    }

    fn children(
        &mut self,
        value: &mut Value,
        mut each: impl FnMut(&mut Self, &str, &mut Value) -> Result<(), E>,
    ) -> Result<(), E> {
        let Value::Object(map) = value else { return Ok(()) };
        for (key, inner) in map {
            self.path.push(Step::Key(key.clone()));
            each(self, key, inner)?;
            self.path.pop();
        }
        Ok(())
    }

    fn elements(
        &mut self,
        items: &mut [Value],
        mut each: impl FnMut(&mut Self, &mut Value) -> Result<(), E>,
    ) -> Result<(), E> {
        for (index, item) in items.iter_mut().enumerate() {
            self.path.push(Step::Index(index));
            each(self, item)?;
            self.path.pop();
        }
        Ok(())
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            // `@`, `=` and `?` cannot occur unquoted in a path.
            None => write!(f, "{}", self.path),
            Some(Part::Argument { name }) => write!(f, "{}={}", self.path, Path::default().key(name)),
            Some(Part::UserInfo) => write!(f, "{}@userinfo", self.path),
            Some(Part::Query { at, key }) => {
                write!(f, "{}?[{at}]{}", self.path, Path::default().key(key))
            }
        }
    }
}

#[cfg(test)]
mod tests;
