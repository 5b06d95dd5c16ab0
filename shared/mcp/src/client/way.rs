//! How a server is reached, its entry resolved.

use pudu_app::ports::{CallError, CallFault};
use pudu_config::{Headers, Server, Transport};
use secrecy::SecretString;

use super::Client;
use crate::redact::Redactor;
use crate::stdio::{Recipe, Stdio};
use crate::target::Target;
use crate::wire::Failure;

/// What a composition without a launcher says of a stdio server.
const OFF: &str = "its type is 'stdio', and starting processes is off here; turn it on (parameter 'Stdio' of the stack), or give \
                   it a 'url' and type 'http'";

/// See the module.
pub(super) enum Way<'a> {
    /// Over HTTP.
    Remote(Box<Target>),
    /// A child process of this one.
    Child(&'a Stdio, Box<Recipe>),
}

impl<'a> Way<'a> {
    /// Errors are all [`CallFault::Config`] and name fields, never values.
    pub(super) fn of(client: &'a Client, server: &Server) -> Result<Self, CallError> {
        let secrets = client.secrets.as_ref();
        if !matches!(server.transport, Transport::Stdio(_)) {
            return Ok(Self::Remote(Box::new(client.target(server)?)));
        }
        let Some(stdio) = &client.stdio else {
            let message = OFF.to_owned();
            return Err(CallError { server: server.name.clone(), fault: CallFault::Config, message });
        };
        Ok(Self::Child(stdio, Box::new(stdio.recipe(server, secrets, &client.changes)?)))
    }

    /// The same, with more that no text may show.
    #[must_use]
    pub(super) fn knowing(self, secrets: &[SecretString]) -> Self {
        match self {
            Self::Remote(target) => Self::Remote(Box::new(target.knowing(secrets))),
            Self::Child(stdio, recipe) => Self::Child(stdio, Box::new(recipe.knowing(secrets))),
        }
    }

    /// The same, for a call with these headers. A child gets them beside its call; they may hold what no text may show.
    pub(super) fn with(&self, headers: &Headers) -> Result<Self, CallError> {
        Ok(match self {
            Self::Remote(target) => Self::Remote(Box::new(target.with(headers)?)),
            Self::Child(stdio, recipe) => {
                headers.check().map_err(|error| CallError {
                    server: recipe.server.clone(),
                    fault: CallFault::Config,
                    message: recipe
                        .redactor
                        .text(&format!("an interceptor set what cannot be sent: {error}")),
                })?;
                let values: Vec<_> = headers.iter().map(|(_, value)| value.clone()).collect();
                Self::Child(stdio, Box::new(recipe.as_ref().clone().knowing(&values)))
            }
        })
    }

    /// The one way in which a failure leaves this crate.
    pub(super) fn error(&self, failure: &Failure) -> CallError {
        match self {
            Self::Remote(target) => target.error(failure),
            Self::Child(_, recipe) => recipe.error(failure),
        }
    }

    /// An error that was made elsewhere, as it may leave.
    pub(super) fn told(&self, error: CallError) -> CallError {
        CallError { message: self.redactor().text(&error.message), ..error }
    }

    fn redactor(&self) -> &Redactor {
        match self {
            Self::Remote(target) => &target.redactor,
            Self::Child(_, recipe) => &recipe.redactor,
        }
    }
}
