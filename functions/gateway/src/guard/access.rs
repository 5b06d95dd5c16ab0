//! Who may come in: each request has a [`Principal`] when it reaches a route, or it does not reach one.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderMap, HeaderName, StatusCode, header};
use pudu_app::callers::Callers;
use pudu_domain::{Principal, Role, Scope};

use crate::error::Failure;
use crate::state::Gateway;

/// Longest credential, in bytes; a token of an issuer with many claims has a few thousand.
const MAX_CREDENTIAL: usize = 16 * 1024;
/// The scheme of a credential, in any case.
const SCHEME: &str = "bearer";

/// Where the official agent clients show a key, without a scheme.
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// The headers in which a credential is shown.
const CREDENTIALS: [HeaderName; 2] = [header::AUTHORIZATION, API_KEY];

/// The credential that a request shows, and nothing else of it: a stream asks again and again whether it is still good.
pub(crate) fn shown(headers: HeaderMap) -> HeaderMap {
    let shown = headers.into_iter().filter_map(|(name, value)| Some((name?, value)));
    shown.filter(|(name, _)| CREDENTIALS.contains(name)).collect()
}

/// How callers are told apart.
#[derive(Clone)]
pub enum Access {
    /// Not at all: everybody whom the door lets through is this one.
    Everyone(Principal),
    /// By what they show: `Authorization: Bearer …`, or `x-api-key: …`.
    Callers(Arc<Callers>),
}

impl Access {
    /// Who sent these headers.
    pub(crate) async fn identify(&self, headers: &HeaderMap) -> Result<Principal, Failure> {
        match self {
            Self::Everyone(principal) => Ok(principal.clone()),
            Self::Callers(callers) => {
                let shown = credential(headers).ok_or_else(Failure::unauthenticated)?;
                Ok(callers.authenticate(shown).await?)
            }
        }
    }
}

/// The one credential that is shown. Two are none, unless they are the same: which of them a proxy in between has judged is not known.
fn credential(headers: &HeaderMap) -> Option<&str> {
    let bearer = only(headers, &header::AUTHORIZATION).ok()?;
    let key = only(headers, &API_KEY).ok()?.map(|key| key.trim_matches(' '));
    let bearer = match bearer {
        Some(shown) => {
            let (scheme, credential) = shown.split_once(' ')?;
            Some(scheme.eq_ignore_ascii_case(SCHEME).then(|| credential.trim_matches(' '))?)
        }
        None => None,
    };
    let shown = match (bearer, key) {
        (Some(bearer), Some(key)) if bearer != key => None,
        (bearer, key) => bearer.or(key),
    };
    shown.filter(|shown| (1..=MAX_CREDENTIAL).contains(&shown.len()))
}

/// A header that stands there twice, or is no text.
struct Unclear;

/// The only text of that header, if there is one.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Unclear> {
    let mut shown = headers.get_all(name).iter();
    match (shown.next(), shown.next()) {
        (None, _) => Ok(None),
        (Some(only), None) => only.to_str().map(Some).map_err(|_| Unclear),
        (Some(_), Some(_)) => Err(Unclear),
    }
}

/// Whoever asks.
pub(crate) struct Who(pub(crate) Principal);

/// An administrator of everything; everybody else is answered 403.
pub(crate) struct Admin(pub(crate) Principal);

impl FromRequestParts<Gateway> for Who {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Gateway) -> Result<Self, Failure> {
        // Absent only if a route were mounted beside the guard, or where it lets everybody pass.
        let principal = parts.extensions.get::<Principal>().cloned();
        principal.map(Self).ok_or_else(Failure::unauthenticated)
    }
}

impl FromRequestParts<Gateway> for Admin {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Failure> {
        let Who(principal) = Who::from_request_parts(parts, gateway).await?;
        // Who reaches some servers only could else give itself the others.
        if principal.role == Role::Admin && principal.scope == Scope::All {
            return Ok(Self(principal));
        }
        Err(Failure::new(StatusCode::FORBIDDEN, "admin privileges are needed for this"))
    }
}

#[cfg(test)]
mod tests;
