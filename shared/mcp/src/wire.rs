//! One HTTP exchange: bounded, under the egress rule, never retried, never redirected to another origin, never through
//! a proxy. It knows statuses and bodies; what a message means is for its callers.
//!
//! Everything shares it: the stateless era uses it directly, the older ones through the SDK, and token requests use it
//! for what is not MCP ([`Wire::form`], [`Wire::json`]).

mod answer;
mod failure;
mod frames;
mod plain;
mod resolver;
mod verdict;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use reqwest::Response;
use reqwest::redirect::Policy;
use serde_json::Value;
use sse_stream::Sse;
use url::Url;

pub(crate) use answer::{Answered, answer_to, told};
pub(crate) use failure::Failure;
pub use frames::{Event, read_events};

use crate::egress::Egress;
use crate::target::Target;
use frames::Bound;
use resolver::{Guarded, Lookup};

/// Most bytes of one answer, whether it is one JSON text or a stream of events.
pub(crate) const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// Most bytes of an error answer that are read.
const MAX_ERROR_BYTES: usize = 64 * 1024;
const MAX_REDIRECTS: usize = 3;
/// Longest wait for a connection, inside whatever time the call has: a host that swallows packets is told apart from a
/// server that thinks.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const EITHER: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
pub(crate) const EVENT_STREAM: &str = "text/event-stream";
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The events of an answer, each read as it comes.
pub(crate) type Events = BoxStream<'static, Result<Sse, Failure>>;

/// The one HTTP client; connections are kept and shared.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    client: reqwest::Client,
    egress: Egress,
}

/// What a server answered to a POST.
pub(crate) struct Reply {
    /// The session that it opened, if it did.
    pub(crate) session: Option<String>,
    pub(crate) body: Body,
}

/// The body of a successful answer.
pub(crate) enum Body {
    /// Taken, with nothing to say.
    Empty,
    /// One JSON text.
    Json(Value),
    /// A stream that ends with the answer.
    Events(Events),
}

impl Wire {
    /// Builds the client. HTTP/1 only, so that nothing is ever sent again on a connection's refusal; the environment's
    /// proxies are not used, because a credential must not go where the config does not say.
    pub(crate) fn new(egress: Egress) -> Result<Self, reqwest::Error> {
        Self::with_lookup(egress, resolver::system())
    }

    fn with_lookup(egress: Egress, lookup: Lookup) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder()
            .no_proxy()
            .http1_only()
            .retry(reqwest::retry::never())
            .redirect(Policy::none())
            .dns_resolver(Arc::new(Guarded { lookup, egress: egress.clone() }))
            .connect_timeout(CONNECT_LIMIT)
            .referer(false)
            .tcp_nodelay(true)
            .tls_backend_rustls()
            .build()?;
        Ok(Self { client, egress })
    }

    /// The client alone.
    pub(crate) fn into_client(self) -> reqwest::Client {
        self.client
    }

    /// Sends one message.
    pub(crate) async fn post(
        &self,
        target: &Target,
        extra: HeaderMap,
        message: Vec<u8>,
    ) -> Result<Reply, Failure> {
        let response = self.exchange(Method::POST, target, extra, Some(message)).await?;
        let session = response.headers().get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let status = response.status();
        if !status.is_success() {
            return Err(unsuccessful(target, response).await);
        }
        let body = match media_type(&response).as_deref() {
            _ if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) => Body::Empty,
            Some(EVENT_STREAM) => Body::Events(events(target, response, Bound::Stream)),
            Some("application/json") => Body::Json(json(target, response).await?),
            _ if response.content_length() == Some(0) => Body::Empty,
            other => return Err(Failure::not_mcp(target, format!("answered with {}", kind(other)))),
        };
        Ok(Reply { session, body })
    }

    /// Sends a message that has no answer: a notification, or an answer of ours. What comes back is not read, because
    /// servers answer here with anything.
    pub(crate) async fn tell(
        &self,
        target: &Target,
        extra: HeaderMap,
        message: Vec<u8>,
    ) -> Result<(), Failure> {
        let response = self.exchange(Method::POST, target, extra, Some(message)).await?;
        if response.status().is_success() { Ok(()) } else { Err(unsuccessful(target, response).await) }
    }

    /// Opens a stream of events that goes with a session. `Ok(None)` when the server offers none.
    pub(crate) async fn events(&self, target: &Target, extra: HeaderMap) -> Result<Option<Events>, Failure> {
        let opened = self.open_stream(target, extra).await?;
        Ok(opened.map(|response| events(target, response, Bound::Stream)))
    }

    /// Opens a stream of events that is a conversation, and says where it came from after redirects. `Ok(None)` when
    /// the server offers none.
    pub(crate) async fn stream(
        &self,
        target: &Target,
        extra: HeaderMap,
    ) -> Result<Option<(Url, Events)>, Failure> {
        let opened = self.open_stream(target, extra).await?;
        Ok(opened.map(|response| (response.url().clone(), events(target, response, Bound::Event))))
    }

    async fn open_stream(&self, target: &Target, extra: HeaderMap) -> Result<Option<Response>, Failure> {
        let response = self.exchange(Method::GET, target, extra, None).await?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Ok(None),
            status if !status.is_success() => Err(unsuccessful(target, response).await),
            _ if media_type(&response).as_deref() == Some(EVENT_STREAM) => Ok(Some(response)),
            _ => Ok(None),
        }
    }

    /// Ends a session.
    pub(crate) async fn delete(&self, target: &Target, extra: HeaderMap) -> Result<(), Failure> {
        let response = self.exchange(Method::DELETE, target, extra, None).await?;
        // Many servers cannot end a session on request: that is allowed.
        if response.status().is_success() || response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Ok(());
        }
        Err(unsuccessful(target, response).await)
    }

    /// Sends to the target, and goes on where it redirects at home: a server that redirects has not acted, so the
    /// message is still delivered once. Any other redirect comes back as the answer that it is.
    async fn exchange(
        &self,
        method: Method,
        target: &Target,
        extra: HeaderMap,
        body: Option<Vec<u8>>,
    ) -> Result<Response, Failure> {
        let mut headers = target.headers.clone();
        headers.insert(ACCEPT, EITHER);
        headers.insert(CONTENT_TYPE, JSON);
        headers.extend(extra);
        let body = body.map(Bytes::from);
        let mut url = target.url.clone();
        let mut redirects = 0;
        loop {
            let response = self.send(&method, target, url.clone(), headers.clone(), body.clone()).await?;
            match at_home(&url, &response) {
                Some(next) if redirects < MAX_REDIRECTS => url = next,
                _ => return Ok(response),
            }
            redirects += 1;
        }
    }

    /// The one place from which anything is sent.
    async fn send(
        &self,
        method: &Method,
        target: &Target,
        url: Url,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response, Failure> {
        self.egress.url(&url).map_err(Failure::egress)?;
        // `headers` replaces: a configured Authorization wins over the URL's user info.
        let request = self.client.request(method.clone(), url).headers(headers);
        let request = body.into_iter().fold(request, reqwest::RequestBuilder::body);
        request.send().await.map_err(|error| Failure::sending(target, &error))
    }
}

/// Where a redirect goes that keeps the method, the body and the origin: 307 and 308 at home, with the user info that
/// is ours.
fn at_home(from: &Url, response: &Response) -> Option<Url> {
    if !matches!(response.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
        return None;
    }
    let mut next = from.join(response.headers().get(LOCATION)?.to_str().ok()?).ok()?;
    if next.origin() != from.origin() {
        return None;
    }
    next.set_username(from.username()).ok()?;
    next.set_password(from.password()).ok()?;
    Some(next)
}

fn media_type(response: &Response) -> Option<String> {
    let value = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// How a message names what came. Only types that everybody knows: any other text is the server's, and may hold anything.
fn kind(media_type: Option<&str>) -> &'static str {
    match media_type {
        None => "no content type",
        Some("text/html") => "content type 'text/html'",
        Some("text/plain") => "content type 'text/plain'",
        Some("application/xml" | "text/xml") => "an XML content type",
        Some(_) => "another content type",
    }
}

async fn json(target: &Target, response: Response) -> Result<Value, Failure> {
    let (bytes, complete) = read(target, response, MAX_ANSWER_BYTES).await?;
    if !complete {
        return Err(Failure::too_large(target));
    }
    serde_json::from_slice(&bytes)
        .map_err(|_| Failure::not_mcp(target, "answered with text that is not JSON"))
}

/// Reads at most `limit` bytes; says whether that was all.
async fn read(target: &Target, mut response: Response, limit: usize) -> Result<(Vec<u8>, bool), Failure> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| Failure::reading(target, &error))? {
        if bytes.len() + chunk.len() > limit {
            return Ok((bytes, false));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok((bytes, true))
}

/// What an unsuccessful status means ([`verdict`]). The body counts only if it is a JSON-RPC error: a page of HTML helps
/// nobody and may hold anything.
async fn unsuccessful(target: &Target, response: Response) -> Failure {
    let status = response.status();
    if status.is_redirection() || media_type(&response).as_deref() != Some("application/json") {
        return Failure::status(status);
    }
    let Ok((bytes, true)) = read(target, response, MAX_ERROR_BYTES).await else {
        return Failure::unread(status);
    };
    let error = serde_json::from_slice::<Value>(&bytes).ok();
    match error.as_ref().and_then(|message| message.get("error")).filter(|error| error.is_object()) {
        Some(error) => Failure::rpc(target, Some(status), error),
        None => Failure::status(status),
    }
}

/// The events of a response.
fn events(target: &Target, response: Response, bound: Bound) -> Events {
    let place = target.clone();
    let bytes =
        response.bytes_stream().map(move |chunk| chunk.map_err(|error| Failure::reading(&place, &error)));
    frames::frames(target.redactor.clone(), bytes, bound)
}

#[cfg(test)]
mod tests;
