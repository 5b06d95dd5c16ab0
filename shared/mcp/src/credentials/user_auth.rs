//! `user_auth`: one header whose value depends on the user (reference 5.5). Also in the background, for a task's owner.

use async_trait::async_trait;
use pudu_app::ports::{CallError, Caller};
use pudu_config::{OnMissing, Secrets, Server, Setting, UserAuth, illegal_value};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::interceptor::{Interceptor, Next, Request};

/// The block of one server.
pub(crate) struct PerUser<'a> {
    block: &'a UserAuth,
    secrets: &'a dyn Secrets,
}

impl<'a> PerUser<'a> {
    /// Of a server that uses it.
    pub(crate) fn of(server: &'a Server, secrets: &'a dyn Secrets) -> Option<Self> {
        let block =
            server.user_auth.as_ref().filter(|block| block.enabled && server.transport.takes_headers())?;
        Some(Self { block, secrets })
    }

    fn setting(&self, caller: &Caller) -> Option<&Setting> {
        let user = caller.thread.user.as_str();
        self.block.users.iter().find(|(id, _)| id == user).map(|(_, setting)| setting)
    }

    /// The user's value, if it can be had.
    pub(super) fn value(&self, caller: &Caller) -> Option<SecretString> {
        self.setting(caller)?.resolve(self.secrets).ok()
    }

    /// What to set for the caller; `None` when the call goes on without.
    fn credential(&self, request: &Request<'_>) -> Result<Option<SecretString>, CallError> {
        let user = request.caller.thread.user.as_str();
        let found = match self.setting(request.caller).map(|setting| setting.resolve(self.secrets)) {
            None => None,
            Some(Ok(value)) => Some(value).filter(|value| !value.expose_secret().is_empty()),
            // Mapped, so meant to be sent: never silently without, whatever 'on_missing' says.
            Some(Err(error)) => {
                return Err(request.denied(format!(
                    "The credential of user id '{user}' has no value ({error}); check 'user_auth.users' of this server"
                )));
            }
        };
        let Some(value) = found else {
            return match self.block.on_missing {
                OnMissing::Passthrough => Ok(None),
                OnMissing::Deny => Err(request.denied(format!(
                    "No credential is configured for user id '{user}'; an administrator can add one to 'user_auth.users' of this server"
                ))),
            };
        };
        match illegal_value(value.expose_secret()) {
            None => Ok(Some(value)),
            Some(reason) => Err(request.denied(format!(
                "The credential of user id '{user}' cannot be sent as header '{}': {reason}; check 'user_auth.users' of this server",
                self.block.header
            ))),
        }
    }
}

#[async_trait]
impl Interceptor for PerUser<'_> {
    async fn intercept(&self, mut request: Request<'_>, next: Next<'_>) -> Result<Value, CallError> {
        if let Some(value) = self.credential(&request)? {
            request.headers.set(&self.block.header, value);
        }
        next.call(request).await
    }
}
