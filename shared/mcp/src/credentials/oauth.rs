//! Server-level OAuth: tokens by `client_credentials` or `refresh_token`, shared by every process through the table
//! (reference 5.4).
//!
//! [`Keeper`] finds a valid token: in this process, in the table, or at the token server, which one process at a time asks
//! ([`pudu_domain::token`]). [`request`] and [`answer`] are what is said there, [`discovery`] where. [`Authorized`] is the
//! outermost interceptor: it sets the header, and gets another token once when the server answers 401.
//!
//! Beside the SDK's own `auth` and not on it: its client keeps tokens in a store and talks through an HTTP client of its
//! own, so that neither the shared row nor the egress rule would hold, and its assertion cannot be had without both.

mod answer;
mod assertion;
mod authorized;
mod discovery;
mod keeper;
mod request;

use pudu_app::chain::Chain;
use pudu_app::ports::{CallError, CallFault, TokenKey};
use pudu_config::{ConnectError, ResolvedOauth, SealKey};
use pudu_domain::Token;
use pudu_domain::token::Sealed;
use secrecy::SecretString;

pub(crate) use authorized::{Authorized, Watch, with_token};
pub(crate) use keeper::Keeper;

/// A token that may be sent.
#[derive(Clone, Debug)]
pub(crate) struct Bearer {
    /// The value of the `Authorization` header.
    pub(crate) header: SecretString,
    /// As it is stored: which token this is.
    sealed: Sealed,
}

/// What a server's token is got with.
#[derive(Debug)]
pub(crate) struct Wanted {
    key: TokenKey,
    /// What an access token depends on.
    terms: String,
    oauth: ResolvedOauth,
    server_url: SecretString,
    seal: SealKey,
}

/// Why there is no token. The text holds no secret, and nothing that a token server said but its error's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenError {
    fault: CallFault,
    message: String,
}

impl Bearer {
    /// Whether it is the same token.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.sealed == other.sealed
    }
}

impl Wanted {
    /// The row's access token; `None` when there is none that opens: it was given under other terms.
    fn bearer(&self, token: &Token) -> Option<Bearer> {
        let access = token.access.as_ref()?;
        let header = self.seal.open(&self.access_place(), access.sealed.as_str()).ok()?;
        Some(Bearer { header, sealed: access.sealed.clone() })
    }

    /// The refresh token that replaced the configured one.
    fn refresh(&self, token: &Token) -> Option<SecretString> {
        self.seal.open(&self.refresh_place(), token.refresh.as_ref()?.as_str()).ok()
    }

    /// To where an access token is sealed. The terms are part of it, so that under others it does not open.
    fn access_place(&self) -> String {
        format!("{}#access#{}", self.key.place(), self.terms)
    }

    /// Not the same: a refresh token that is moved to where the access token is must not be sent to the server.
    fn refresh_place(&self) -> String {
        format!("{}#refresh", self.key.place())
    }
}

impl TokenError {
    /// No token can be had for now; nothing was sent to the server.
    fn unavailable(message: impl Into<String>) -> Self {
        Self { fault: CallFault::NotSent, message: message.into() }
    }

    /// There is none and there will be none.
    fn refused(message: impl Into<String>) -> Self {
        Self { fault: CallFault::Denied, message: message.into() }
    }

    fn config(error: &ConnectError) -> Self {
        Self { fault: CallFault::Config, message: Chain(error).to_string() }
    }

    /// The error of a call to `server`.
    pub(crate) fn of(self, server: &str) -> CallError {
        CallError {
            server: server.to_owned(),
            fault: self.fault,
            message: format!("OAuth: {}", self.message),
        }
    }
}
