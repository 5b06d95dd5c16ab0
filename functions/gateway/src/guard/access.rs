//! Who may come in: each request has a [`Principal`] when it reaches a route, or it does not reach one.

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use pudu_domain::{Principal, Role};

use crate::error::Failure;
use crate::state::Gateway;

/// How callers are told apart.
#[derive(Clone)]
pub enum Access {
    /// Not at all: everybody whom the door lets through is this one.
    Everyone(Principal),
}

impl Access {
    /// Who sent these headers.
    #[expect(clippy::unused_async, reason = "keys and tokens are looked up")]
    pub(super) async fn identify(&self, _headers: &HeaderMap) -> Result<Principal, Failure> {
        match self {
            Self::Everyone(principal) => Ok(principal.clone()),
        }
    }
}

/// Whoever asks.
pub(crate) struct Who(pub(crate) Principal);

/// An administrator; everybody else is answered 403.
pub(crate) struct Admin(pub(crate) Principal);

impl FromRequestParts<Gateway> for Who {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Gateway) -> Result<Self, Failure> {
        // Absent only if a route were mounted beside the guard.
        let principal = parts.extensions.get::<Principal>().cloned();
        principal
            .map(Self)
            .ok_or_else(|| Failure::new(StatusCode::UNAUTHORIZED, "show an API key or a token"))
    }
}

impl FromRequestParts<Gateway> for Admin {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Failure> {
        let Who(principal) = Who::from_request_parts(parts, gateway).await?;
        if principal.role == Role::Admin {
            return Ok(Self(principal));
        }
        Err(Failure::new(StatusCode::FORBIDDEN, "this takes admin privileges"))
    }
}
