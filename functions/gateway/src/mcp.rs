//! `/mcp`: every registered server behind one stateless Streamable HTTP endpoint, for clients of both eras (DESIGN 5 and 6).
//!
//! Each POST stands alone: nothing is kept between two of them, so any instance answers any of them. What travels is raw JSON, by
//! hand on the router and not by the SDK's server, which drops what it does not know (ARCHITECTURE.md, "Decisions").

mod call;
mod error;
mod follow;
mod greet;
mod list;
mod message;
mod mirror;
mod revision;
mod tasks;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use pudu_domain::Principal;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::Failure;
use crate::guard::Who;
use crate::input::Raw;
use crate::state::Gateway;
use error::RpcError;
use message::{Message, Request};
use revision::{Client, Era};

/// One message.
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
        Message::Request(request) => {
            let id = request.id.clone();
            let (era, outcome) = served(&gateway, &who, &headers, request).await;
            match outcome {
                Ok(result) => said(StatusCode::OK, &id, &Said::Result(&result)),
                Err(error) => refused(era, &id, &error),
            }
        }
        // Nothing is kept that a notification could change, and nothing is asked that could be answered.
        Message::Other => StatusCode::ACCEPTED.into_response(),
        Message::Broken(id, error) => refused(Era::Stateless, &id, &error),
    }
}

/// Serves one request.
async fn served(
    gateway: &Gateway,
    who: &Principal,
    headers: &HeaderMap,
    request: Request,
) -> (Era, Result<Map<String, Value>, RpcError>) {
    let client = match revision::client(headers, &request) {
        Ok(client) => client,
        Err(error) => return (Era::Stateless, Err(error)),
    };
    let era = client.era;
    let asked = Asked { gateway, who, headers, client, request };
    let outcome = match (era, asked.request.method.as_str()) {
        (Era::Stateless, "server/discover") => Ok(greet::discover()),
        (Era::Handshake, "initialize") => greet::initialize(&asked.request),
        (Era::Handshake, "ping") => Ok(Map::new()),
        (_, "tools/list") => list::tools(&asked).await,
        (_, "tools/call") => call::tool(asked).await,
        (Era::Stateless, "tasks/get") => tasks::get(&asked).await,
        (Era::Stateless, "tasks/update") => tasks::update(&asked).await,
        (Era::Stateless, "tasks/cancel") => tasks::cancel(&asked).await,
        (_, method) => Err(RpcError::method_not_found(method)),
    };
    (era, outcome)
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
    said: &'a Said<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Said<'a> {
    Result(&'a Map<String, Value>),
    Error(&'a RpcError),
}

fn refused(era: Era, id: &Value, error: &RpcError) -> Response {
    said(error.status(era), id, &Said::Error(error))
}

fn said(status: StatusCode, id: &Value, said: &Said<'_>) -> Response {
    // Maps with text keys always serialise.
    let body = serde_json::to_vec(&Envelope { jsonrpc: "2.0", id, said }).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
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
