//! A server entry at the moment of use: variables resolved, headers legal, its secrets known to the redactor.

use http::{HeaderMap, HeaderName, HeaderValue};
use pudu_app::chain::Chain;
use pudu_app::ports::{CallError, CallFault};
use pudu_config::{Secrets, Server, Transport};
use secrecy::ExposeSecret;
use serde_json::json;
use url::Url;

use crate::redact::Redactor;
use crate::wire::Failure;

/// Headers that the protocol sets itself. A copied config may carry them (`Accept` is common); ours win, silently,
/// because refusing a server for a header that changes nothing helps nobody.
const OURS: [&str; 9] = [
    "accept",
    "content-length",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

/// Where to send, with which credentials.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) server: String,
    /// It may hold user info, so it is never printed.
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) redactor: Redactor,
}

impl Target {
    /// Resolves the entry. Errors are all [`CallFault::Config`] and name fields, never values.
    pub(crate) fn of(server: &Server, secrets: &dyn Secrets) -> Result<Self, CallError> {
        let refuse = |message: String| CallError {
            server: server.name.clone(),
            fault: CallFault::Config,
            message: Redactor::default().text(&message),
        };
        if !matches!(server.transport, Transport::Http(_)) {
            let kind = server.transport.name();
            return Err(refuse(format!("the transport '{kind}' is not supported yet; use type 'http'")));
        }
        // Each link of this chain names fields and never values.
        let remote = server.remote(secrets).map_err(|error| refuse(Chain(&error).to_string()))?;
        let url =
            Url::parse(remote.url.expose_secret()).map_err(|_| refuse("'url' is not a URL".to_owned()))?;
        let mut headers = HeaderMap::with_capacity(remote.headers.len());
        for (name, value) in &remote.headers {
            let illegal =
                || refuse(format!("'headers.{name}' cannot be sent as a header; check its name and value"));
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| illegal())?;
            let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| illegal())?;
            value.set_sensitive(true);
            if !OURS.contains(&header.as_str()) {
                headers.insert(header, value);
            }
        }
        let redactor = Redactor::new(&url, &headers);
        Ok(Self { server: server.name.clone(), url, headers, redactor })
    }

    /// The key under which the era of whatever listens there is remembered: a digest of scheme, host, port and path.
    /// Credentials and query are not part of it, so that it may be stored.
    pub(crate) fn era_key(&self) -> String {
        let url = &self.url;
        pudu_config::sha256_hex(&json!([
            url.scheme(),
            url.host_str(),
            url.port_or_known_default(),
            url.path()
        ]))
    }

    /// The one way in which a failure leaves this crate.
    pub(crate) fn error(&self, failure: &Failure) -> CallError {
        CallError {
            server: self.server.clone(),
            fault: failure.fault,
            message: self.redactor.text(&failure.message),
        }
    }
}

impl AsRef<Redactor> for Target {
    fn as_ref(&self) -> &Redactor {
        &self.redactor
    }
}
