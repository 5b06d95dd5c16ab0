//! `/mcp`: every registered server behind one stateless Streamable HTTP endpoint, for clients of both eras (DESIGN 5 and 6).
//!
//! Each POST stands alone: nothing is kept between two of them, so any instance answers any of them. What travels is raw JSON, by
//! hand on the router and not by the SDK's server, which drops what it does not know (ARCHITECTURE.md, "Decisions").

mod call;
mod described;
mod error;
mod follow;
mod greet;
mod list;
mod message;
mod mirror;
mod revision;
mod stream;
mod tasks;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use pudu_domain::Principal;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::error::Failure;
use crate::guard::Who;
use crate::input::Raw;
use crate::state::Gateway;
use error::RpcError;
use message::{Message, Request};
use revision::{Client, Era};

/// One message of an MCP client.
///
/// Every registered server's tools, for clients of 2026-07-28 and of the revisions before it. Each POST stands alone.
#[utoipa::path(
    post,
    path = "/mcp",
    operation_id = "mcp",
    tag = "mcp",
    request_body = described::ClientMessage,
    responses(
        (status = OK, description = "The result, or an error of the request itself", body = described::ServerMessage),
        (status = ACCEPTED, description = "A notification or an answer: nothing is said to it"),
        (status = BAD_REQUEST, description = "No message, or not as its revision wants it", body = described::ServerMessage),
        (status = NOT_FOUND, description = "There is no such method", body = described::ServerMessage),
        Failure
    )
)]
pub(crate) async fn post(
    State(gateway): State<Gateway>,
    Who(who): Who,
    headers: HeaderMap,
    Raw(body): Raw,
) -> Response {
    if !takes_json(&headers) {
        let detail =
            "answers are application/json (text/event-stream while a call reports progress); accept them";
        return Failure::new(StatusCode::NOT_ACCEPTABLE, detail).into_response();
    }
    match message::read(&body) {
        Message::Request(request) => Box::pin(answer(gateway, who, headers, request)).await,
        // Nothing is kept that a notification could change, and nothing is asked that could be answered.
        Message::Other => StatusCode::ACCEPTED.into_response(),
        Message::Broken(id, error) => Served { era: Era::Stateless, outcome: Err(error) }.response(&id),
    }
}

async fn answer(gateway: Gateway, who: Principal, headers: HeaderMap, request: Request) -> Response {
    let id = request.id.clone();
    if !stream::is_wanted(&headers, &request) {
        return served(&gateway, &who, &headers, request, None).await.response(&id);
    }
    let (notes, heard) = mpsc::channel(stream::WAITING);
    let serving = async move { served(&gateway, &who, &headers, request, Some(notes)).await };
    stream::answer(id, Box::pin(serving), heard).await
}

/// Serves one request; `notes` takes what is said before its answer.
async fn served(
    gateway: &Gateway,
    who: &Principal,
    headers: &HeaderMap,
    request: Request,
    notes: Option<mpsc::Sender<Value>>,
) -> Served {
    let client = match revision::client(headers, &request) {
        Ok(client) => client,
        Err(error) => return Served { era: Era::Stateless, outcome: Err(error) },
    };
    let era = client.era;
    let asked = Asked { gateway, who, headers, client, request };
    let outcome = match (era, asked.request.method.as_str()) {
        (Era::Stateless, "server/discover") => Ok(greet::discover()),
        (Era::Handshake, "initialize") => greet::initialize(&asked.request),
        (Era::Handshake, "ping") => Ok(Map::new()),
        (_, "tools/list") => list::tools(&asked).await,
        (_, "tools/call") => call::tool(asked, notes).await,
        (Era::Stateless, "tasks/get") => tasks::get(&asked).await,
        (Era::Stateless, "tasks/update") => tasks::update(&asked).await,
        (Era::Stateless, "tasks/cancel") => tasks::cancel(&asked).await,
        (_, method) => Err(RpcError::method_not_found(method)),
    };
    Served { era, outcome }
}

/// What became of a request.
struct Served {
    era: Era,
    outcome: Result<Map<String, Value>, RpcError>,
}

impl Served {
    fn response(&self, id: &Value) -> Response {
        let status = self.outcome.as_ref().map_or_else(|error| error.status(self.era), |_| StatusCode::OK);
        let kind = HeaderValue::from_static("application/json");
        (status, [(header::CONTENT_TYPE, kind)], self.message(id)).into_response()
    }

    /// The answer as a message.
    fn message(&self, id: &Value) -> Vec<u8> {
        let said = match &self.outcome {
            Ok(result) => Said::Result(result),
            Err(error) => Said::Error(error),
        };
        // Maps with text keys always serialise.
        serde_json::to_vec(&Envelope { jsonrpc: "2.0", id, said }).unwrap_or_default()
    }
}

/// One request with everything that it is served by.
struct Asked<'a> {
    gateway: &'a Gateway,
    who: &'a Principal,
    headers: &'a HeaderMap,
    client: Client,
    request: Request,
}

/// An answer as it is written.
#[derive(Serialize)]
struct Envelope<'a> {
    jsonrpc: &'static str,
    id: &'a Value,
    #[serde(flatten)]
    said: Said<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Said<'a> {
    Result(&'a Map<String, Value>),
    Error(&'a RpcError),
}

/// Whether the client reads JSON. One that says nothing reads anything.
fn takes_json(headers: &HeaderMap) -> bool {
    let mut given = headers.get_all(header::ACCEPT).iter().peekable();
    given.peek().is_none()
        || given.any(|accept| accepts(accept, &["application/json", "application/*", "*/*"]))
}

/// Whether one of these media types is in an `Accept`, and not ruled out by a weight of zero.
fn accepts(accept: &HeaderValue, kinds: &[&str]) -> bool {
    accept.to_str().unwrap_or_default().split(',').any(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let zero =
            |part: &str| part.strip_prefix("q=").is_some_and(|q| q.trim_end_matches(['0', '.']).is_empty());
        kinds.iter().any(|known| kind.eq_ignore_ascii_case(known)) && !parts.any(zero)
    })
}
