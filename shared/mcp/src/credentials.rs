//! The credentials of a call beyond static headers (reference 5): the server's OAuth token, its user's, its request's. Each
//! is one interceptor; the last that writes a header wins.
//!
//! A missing credential fails closed: nothing is sent, and the text names the server, the user and the key, never a value.
//! Servers without headers (stdio) have none of these; the config warns about them there.

mod from_context;
mod oauth;
mod user_auth;

use pudu_app::ports::{Caller, RequestSecrets};
use pudu_config::{Secrets, Server};
use secrecy::SecretString;

pub(crate) use from_context::FromContext;
pub(crate) use oauth::{Authorized, Keeper, Watch, with_token};
pub(crate) use user_auth::PerUser;

/// Every value of these tiers that `server` or something on the way to it might repeat in a call for `caller`: all secrets
/// of the request, used or not, the user's own credential, and the server's.
pub(crate) fn known(server: &Server, caller: &Caller, secrets: &dyn Secrets) -> Vec<SecretString> {
    let mut known = of_server(server, secrets);
    if let RequestSecrets::Given(given) = &caller.secrets {
        known.extend(given.values().cloned());
    }
    if let Some(user) = PerUser::of(server, secrets) {
        known.extend(user.value(caller));
    }
    known
}

/// What the server's OAuth is configured with.
pub(crate) fn of_server(server: &Server, secrets: &dyn Secrets) -> Vec<SecretString> {
    match server.oauth(secrets) {
        Some(Ok(oauth)) => oauth.secrets(),
        Some(Err(_)) | None => Vec::new(),
    }
}
