//! Credentials per user and per request (reference 1.5, 1.6).

use super::read::check_header_names;
use crate::header::{illegal_value, legal_name};
use crate::reader::Reader;
use crate::setting::Setting;

/// Every declared field of `user_auth`; the others are extras.
pub(crate) const USER_AUTH: &[&str] = &["enabled", "header", "users", "on_missing"];
/// Every declared field of `headers_from_context`.
pub(crate) const FROM_CONTEXT: &[&str] = &["enabled", "headers", "on_missing"];

/// What happens when a credential is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissing {
    /// The call is refused.
    #[default]
    Deny,
    /// The call goes on without it.
    Passthrough,
}

/// The `user_auth` block: one header whose value depends on the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserAuth {
    /// Whether it is used.
    pub enabled: bool,
    /// The header's name.
    pub header: String,
    /// The whole header value by user id.
    pub users: Vec<(String, Setting)>,
    /// For a user who has none.
    pub on_missing: OnMissing,
}

/// The `headers_from_context` block: headers from the secrets of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadersFromContext {
    /// Whether it is used.
    pub enabled: bool,
    /// Header name and the key in the request's secrets.
    pub headers: Vec<(String, String)>,
    /// For a request that lacks one.
    pub on_missing: OnMissing,
}

impl OnMissing {
    fn read(reader: &mut Reader<'_>) -> Self {
        match reader.text("on_missing").as_deref() {
            None | Some("deny") => Self::Deny,
            Some("passthrough") => Self::Passthrough,
            Some(_) => {
                reader.rule("on_missing", "must be 'deny' or 'passthrough'");
                Self::Deny
            }
        }
    }
}

impl UserAuth {
    /// Whether that user has a value here; an empty one is none.
    pub(super) fn maps(&self, user: &str) -> bool {
        let value = self.users.iter().find(|(id, _)| id == user).map(|(_, value)| value);
        value.is_some_and(|value| value.expose_literal() != Some(""))
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        let header = reader.text("header").unwrap_or_else(|| "Authorization".to_owned());
        if header.trim().is_empty() {
            reader.rule("header", "must not be blank");
        } else if !legal_name(&header) {
            reader.rule("header", "is not a legal header name");
        }
        let users = reader.settings("users");
        for (user, setting) in &users {
            if let Some(reason) = setting.expose_literal().and_then(illegal_value) {
                let path = reader.at("users").key(user);
                reader.found.rule(&path, format!("cannot be sent as a header: {reason}"));
            }
        }
        Self { enabled: reader.bool("enabled", true), header, users, on_missing: OnMissing::read(reader) }
    }
}

impl HeadersFromContext {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        let mut headers = Vec::new();
        if let Some(inner) = reader.object_or_absent("headers") {
            for (name, value) in inner.map {
                match value.as_str() {
                    Some(key) if key.trim().is_empty() => {
                        inner
                            .found
                            .rule(&inner.path.key(name), "the key of the credential must not be blank");
                    }
                    Some(key) => headers.push((name.clone(), key.to_owned())),
                    None => inner.found.shape(&inner.path.key(name), "must be a string"),
                }
            }
            check_header_names(inner.map.keys(), &inner.path, inner.found);
        }
        Self { enabled: reader.bool("enabled", true), headers, on_missing: OnMissing::read(reader) }
    }
}
