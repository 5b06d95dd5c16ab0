//! The credentials of a call beyond static headers (reference 5): of its user and of its request. Each is one
//! interceptor; the last that writes a header wins.
//!
//! A missing credential fails closed: nothing is sent, and the text names the server, the user and the key, never a value.
//! Servers without headers (stdio) have none of these; the config warns about them there.

mod from_context;
mod user_auth;

use pudu_app::ports::{Caller, RequestSecrets};
use pudu_config::{Secrets, Server, Transport};
use secrecy::SecretString;

pub(crate) use from_context::FromContext;
pub(crate) use user_auth::PerUser;

/// Every value of these tiers that `server` or something on the way to it might repeat in a call for `caller`: all secrets
/// of the request, used or not, and the user's own credential.
pub(crate) fn known(server: &Server, caller: &Caller, secrets: &dyn Secrets) -> Vec<SecretString> {
    let mut known = match &caller.secrets {
        RequestSecrets::Given(given) => given.values().cloned().collect(),
        RequestSecrets::Background => Vec::new(),
    };
    if let Some(user) = PerUser::of(server, secrets) {
        known.extend(user.value(caller));
    }
    known
}

/// Whether requests to it carry HTTP headers.
fn takes_headers(server: &Server) -> bool {
    matches!(server.transport, Transport::Http(_) | Transport::Sse(_))
}
