//! Who may come in: each request has a [`Principal`] when it reaches a route, or it does not reach one.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use pudu_app::callers::Callers;
use pudu_domain::{Principal, Role, Scope};

use crate::error::Failure;
use crate::state::Gateway;

/// Longest credential, in bytes; a token of an issuer with many claims has a few thousand.
const MAX_CREDENTIAL: usize = 16 * 1024;
/// The scheme of a credential, in any case.
const SCHEME: &str = "bearer";

/// How callers are told apart.
#[derive(Clone)]
pub enum Access {
    /// Not at all: everybody whom the door lets through is this one.
    Everyone(Principal),
    /// By what they show: `Authorization: Bearer …`.
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

/// The one credential that is shown. Two are none: which of them a proxy in between has judged is not known.
fn credential(headers: &HeaderMap) -> Option<&str> {
    let mut shown = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(only), None) = (shown.next(), shown.next()) else { return None };
    let (scheme, credential) = only.to_str().ok()?.split_once(' ')?;
    let credential = credential.trim_matches(' ');
    let legal = scheme.eq_ignore_ascii_case(SCHEME) && (1..=MAX_CREDENTIAL).contains(&credential.len());
    legal.then_some(credential)
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
