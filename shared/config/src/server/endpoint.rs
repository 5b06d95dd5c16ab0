//! What a server is when it is about to be used: variables resolved, everything checked again, because a variable's
//! value was not there to be checked when the config was stored.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::Url;

use super::read::url_flaw;
use super::{Command, Remote, Server, Transport};
use crate::canonical::sha256_hex;
use crate::header::{Illegal, illegal_value};
use crate::setting::{ResolveError, Secrets, Setting};

/// A remote server ready to connect to.
#[derive(Clone, Debug)]
pub struct ResolvedRemote {
    /// A legal http or https URL, possibly with user info.
    pub url: SecretString,
    /// Legal header values, in the order and spelling of the file.
    pub headers: Vec<(String, SecretString)>,
}

/// Why a server cannot be connected to. Names fields, never values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// An http or sse server without a URL.
    #[error("a server of type '{transport}' requires 'url' field")]
    MissingUrl {
        /// Its type.
        transport: String,
    },
    /// A stdio server without a command.
    #[error("a server of type 'stdio' requires 'command' field")]
    MissingCommand,
    /// A type that nobody knows how to connect to.
    #[error("unsupported transport type '{transport}'; use http, sse or stdio")]
    Unsupported {
        /// Its type.
        transport: String,
    },
    /// A setting has no value.
    #[error("'{field}' has no value")]
    Setting {
        /// Such as `headers.Authorization`.
        field: String,
        /// Why.
        source: ResolveError,
    },
    /// The OAuth block lacks what its grant needs.
    #[error("'oauth.{field}' is needed to get a token")]
    Oauth {
        /// Which field.
        field: &'static str,
    },
    /// The URL's value is not usable.
    #[error("'url' {reason}")]
    Url {
        /// Why.
        reason: &'static str,
    },
    /// A header's value may not be sent.
    #[error("'headers.{header}' cannot be sent as a header")]
    Header {
        /// Its name.
        header: String,
        /// Why.
        source: Illegal,
    },
}

impl Server {
    /// Who this server is, for a task that was submitted to it: a digest (32 hex characters) of transport and origin,
    /// or of the command. Path, headers and credentials are not part of it: they may change below a running task.
    pub fn identity(&self, secrets: &dyn Secrets) -> Result<String, ConnectError> {
        let who = match &self.transport {
            Transport::Http(remote) | Transport::Sse(remote) => {
                let url = remote.parsed(self.transport.name(), secrets)?;
                json!([self.transport.name(), url.scheme(), url.host_str(), url.port_or_known_default()])
            }
            Transport::Stdio(Command { command, .. }) => {
                let command = command.as_ref().ok_or(ConnectError::MissingCommand)?;
                json!(["stdio", value("command", command, secrets)?.expose_secret()])
            }
            Transport::Unknown(transport) => {
                return Err(ConnectError::Unsupported { transport: transport.clone() });
            }
        };
        Ok(shortened(&who))
    }

    /// The URL and static headers of an http or sse server, resolved and checked.
    pub fn remote(&self, secrets: &dyn Secrets) -> Result<ResolvedRemote, ConnectError> {
        match &self.transport {
            Transport::Http(remote) | Transport::Sse(remote) => {
                remote.resolve(self.transport.name(), secrets)
            }
            other => Err(ConnectError::Unsupported { transport: other.name().to_owned() }),
        }
    }
}

impl Remote {
    fn resolve(&self, transport: &str, secrets: &dyn Secrets) -> Result<ResolvedRemote, ConnectError> {
        let url = self.checked_url(transport, secrets)?;
        let mut headers = Vec::with_capacity(self.headers.len());
        for (name, setting) in &self.headers {
            let header = value(format_args!("headers.{name}"), setting, secrets)?;
            if let Some(source) = illegal_value(header.expose_secret()) {
                return Err(ConnectError::Header { header: name.clone(), source });
            }
            headers.push((name.clone(), header));
        }
        Ok(ResolvedRemote { url, headers })
    }

    fn checked_url(&self, transport: &str, secrets: &dyn Secrets) -> Result<SecretString, ConnectError> {
        let missing = || ConnectError::MissingUrl { transport: transport.to_owned() };
        let url = value("url", self.url.as_ref().ok_or_else(missing)?, secrets)?;
        match url_flaw(url.expose_secret()) {
            Some(reason) => Err(ConnectError::Url { reason }),
            None => Ok(url),
        }
    }

    fn parsed(&self, transport: &str, secrets: &dyn Secrets) -> Result<Url, ConnectError> {
        let url = self.checked_url(transport, secrets)?;
        Url::parse(url.expose_secret()).map_err(|_| ConnectError::Url { reason: "is not a URL" })
    }
}

fn value(
    field: impl fmt::Display,
    setting: &Setting,
    secrets: &dyn Secrets,
) -> Result<SecretString, ConnectError> {
    setting.resolve(secrets).map_err(|source| ConnectError::Setting { field: field.to_string(), source })
}

/// 128 bits: it is part of a key, and nobody gains by a collision with a server of their own config.
fn shortened(who: &Value) -> String {
    let mut digest = sha256_hex(who);
    digest.truncate(32);
    digest
}
