//! `GET /openapi.json`: the contract, generated from the routes (OpenAPI 3.1).

use std::fmt;
use std::sync::Arc;

use axum::Extension;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use pudu_config::sha256_hex;
use serde_json::Value;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::error::Failure;

/// Digits of the contract's etag.
const ETAG_DIGITS: usize = 16;

/// What is said once for all routes.
#[derive(OpenApi)]
#[openapi(
    info(title = "Pudu", description = "MCP tools and durable long-running tasks."),
    components(schemas(crate::error::Detail)),
    modifiers(&Bearer),
    security(("bearer" = [])),
    tags(
        (name = "tools", description = "What there is to call, and calls"),
        (name = "tasks", description = "Calls that go on in the background"),
        (name = "events", description = "What threads were told"),
        (name = "mcp", description = "The same for MCP clients"),
        (name = "threads", description = "What tasks and runs belong to"),
        (name = "runs", description = "What agents do in threads"),
        (name = "memory", description = "What agents remember of the caller"),
        (name = "config", description = "The MCP servers; for administrators"),
        (name = "operator", description = "What waits for somebody; for administrators"),
        (name = "service", description = "Pudu itself")
    )
)]
pub(super) struct Pudu;

/// How callers show who they are.
struct Bearer;

impl Modify for Bearer {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let mut bearer = Http::new(HttpAuthScheme::Bearer);
        bearer.description = Some("An API key, or a token of the configured issuer".to_owned());
        openapi
            .components
            .get_or_insert_default()
            .add_security_scheme("bearer", SecurityScheme::Http(bearer));
    }
}

/// The whole contract, as it is answered: the same text for the life of the process.
#[derive(Clone)]
pub(super) struct Described {
    json: Arc<str>,
    etag: Arc<str>,
}

impl Described {
    /// The contract of these routes.
    pub(super) fn new(api: &utoipa::openapi::OpenApi) -> Self {
        // A document of strings and maps always serialises. Indented, so that the kept copy can be read line by line.
        let mut json = serde_json::to_string_pretty(api).unwrap_or_default();
        json.push('\n');
        let digest: String = sha256_hex(&Value::from(json.as_str())).chars().take(ETAG_DIGITS).collect();
        Self { etag: format!("\"{digest}\"").into(), json: json.into() }
    }
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.json)
    }
}

/// This contract.
#[utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "get_contract",
    tag = "service",
    security(()),
    responses(
        (status = OK, description = "OpenAPI 3.1", body = Value, headers(("ETag" = String, description = "Changes when the contract does"))),
        (status = NOT_MODIFIED, description = "It is the one of If-None-Match"),
        Failure
    )
)]
pub(super) async fn get(headers: HeaderMap, Extension(described): Extension<Described>) -> Response {
    let (kind, age) = ((header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-cache"));
    let etag = (header::ETAG, described.etag.to_string());
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|known| known.to_str().ok());
    if known.flat_map(|list| list.split(',')).any(|known| known.trim() == &*described.etag) {
        return (StatusCode::NOT_MODIFIED, [age], [etag]).into_response();
    }
    ([kind, age], [etag], described.to_string()).into_response()
}
