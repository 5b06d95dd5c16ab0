//! A server entry at the moment of use: variables resolved, headers legal, its secrets known to the redactor.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use pudu_app::chain::Chain;
use pudu_app::changes::ListChanges;
use pudu_app::ports::{CallError, CallFault};
use pudu_config::{Headers, Illegal, IllegalHeader, Secrets, Server, Transport};
use secrecy::{ExposeSecret, SecretString};
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

/// A limit beyond it is taken as this: past some point the sum with the clock would overflow.
pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Where to send, with which credentials.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) server: String,
    /// It may hold user info, so it is never printed.
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) redactor: Redactor,
    /// The headers of the file, in its spelling.
    pub(crate) fixed: Headers,
    /// Which transport the entry asks for.
    pub(crate) way: Way,
    /// Longest wait for a connection and the handshake.
    pub(crate) opening: Duration,
    /// Longest wait for the answer to a call after that.
    pub(crate) calling: Duration,
    /// The [`digest`](Server::digest) of the entry.
    pub(crate) digest: String,
    /// Where it is told that the server's list of tools has changed.
    pub(crate) changes: ListChanges,
}

/// A transport over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Streamable HTTP, in whichever era.
    Http,
    /// The older HTTP+SSE.
    Events,
}

impl Target {
    /// Resolves the entry. Errors are all [`CallFault::Config`] and name fields, never values.
    pub(crate) fn of(server: &Server, secrets: &dyn Secrets) -> Result<Self, CallError> {
        let refuse = |message: String| CallError {
            server: server.name.clone(),
            fault: CallFault::Config,
            message: Redactor::default().text(&message),
        };
        let (way, settings) = match &server.transport {
            Transport::Http(remote) => (Way::Http, remote),
            Transport::Sse(remote) => (Way::Events, remote),
            Transport::Stdio(_) | Transport::Unknown(_) => {
                let kind = server.transport.name();
                return Err(refuse(format!(
                    "the transport '{kind}' is not supported; use type 'http', 'sse' or 'stdio'"
                )));
            }
        };
        // Each link of this chain names fields and never values.
        let remote = server.remote(secrets).map_err(|error| refuse(Chain(&error).to_string()))?;
        let url =
            Url::parse(remote.url.expose_secret()).map_err(|_| refuse("'url' is not a URL".to_owned()))?;
        let fixed: Headers = remote.headers.into_iter().collect();
        let headers = map(&fixed).map_err(|error| refuse(format!("'headers': {error}; check its value")))?;
        // A URL that stands in the file is shown to whoever reads that; one from a variable is a secret, its path too: many
        // hosts have the credential there.
        let is_secret = settings.url.as_ref().is_some_and(|url| url.reference().is_some());
        let redactor = Redactor::new(&url, &headers);
        let redactor = if is_secret { redactor.and_path(&url) } else { redactor };
        Ok(Self {
            server: server.name.clone(),
            url,
            headers,
            redactor,
            fixed,
            way,
            opening: server.init_timeout().min(LONGEST),
            calling: server.call_timeout().min(LONGEST),
            digest: server.digest.clone(),
            changes: ListChanges::default(),
        })
    }

    /// The same, telling `changes` when the server says that its list has changed.
    #[must_use]
    pub(crate) fn telling(mut self, changes: &ListChanges) -> Self {
        self.changes = changes.clone();
        self
    }

    /// A place that belongs to `server` and is not its MCP endpoint: none of the entry's headers go there.
    pub(crate) fn plain(server: &str, url: Url, headers: HeaderMap) -> Self {
        let redactor = Redactor::new(&url, &headers);
        Self {
            server: server.to_owned(),
            url,
            headers,
            redactor,
            fixed: Headers::default(),
            way: Way::Http,
            opening: LONGEST,
            calling: LONGEST,
            digest: String::new(),
            changes: ListChanges::default(),
        }
    }

    /// The same, with these headers over those of the file (reference 5.3). Errors: one may not be sent; whoever set it did
    /// not look, so it is told as a fault of the config.
    pub(crate) fn with(&self, overrides: &Headers) -> Result<Self, CallError> {
        let headers = map(&self.fixed.overlaid(overrides)).map_err(|error| CallError {
            server: self.server.clone(),
            fault: CallFault::Config,
            message: self.redactor.text(&format!("an interceptor set what cannot be sent: {error}")),
        })?;
        let redactor = self.redactor.and_headers(&headers);
        Ok(Self { headers, redactor, ..self.clone() })
    }

    /// The same, with more that no text may show.
    #[must_use]
    pub(crate) fn knowing(mut self, secrets: &[SecretString]) -> Self {
        self.redactor = self.redactor.and(secrets);
        self
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

/// Headers as they are sent: legal, marked so that nothing prints their values, without what the protocol sets itself.
fn map(headers: &Headers) -> Result<HeaderMap, IllegalHeader> {
    headers.check()?;
    let mut sent = HeaderMap::new();
    for (name, value) in headers.iter() {
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| IllegalHeader::Name)?;
        let illegal = |_| IllegalHeader::Value { name: name.to_owned(), reason: Illegal::LineBreak };
        let mut value = HeaderValue::from_str(value.expose_secret()).map_err(illegal)?;
        value.set_sensitive(true);
        if !OURS.contains(&header.as_str()) {
            sent.try_insert(header, value).map_err(|_| IllegalHeader::TooMany)?;
        }
    }
    Ok(sent)
}

impl AsRef<Redactor> for Target {
    fn as_ref(&self) -> &Redactor {
        &self.redactor
    }
}
