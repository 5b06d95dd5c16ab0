//! `GET` and `PUT /api/mcp/config`: masked out, merged and validated whole in (reference 8.1, 5.10, 5.11).

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, header};
use pudu_app::configs::Current;
use serde_json::Value;

use crate::error::Failure;
use crate::guard::Admin;
use crate::input::Body;
use crate::state::Gateway;

pub(super) async fn get(State(gateway): State<Gateway>, _: Admin) -> Result<Response, Failure> {
    Ok(answer(&*gateway.configs.current().await?))
}

/// With `If-Match` only over the config that the caller has read; without it the last writer wins.
pub(super) async fn put(
    State(gateway): State<Gateway>,
    _: Admin,
    headers: HeaderMap,
    Body(body): Body<Value>,
) -> Result<Response, Failure> {
    let read = headers.get(header::IF_MATCH).map(|etag| etag.to_str().unwrap_or_default().trim());
    // `*` is "whatever there is", and there always is a config.
    let read = read.filter(|etag| *etag != "*").map(|etag| etag.trim_matches('"'));
    let current = gateway.configs.put(&body, read).await?;
    gateway.catalog.adopt(&current);
    tracing::info!(
        config.revision = current.version.number,
        servers = current.servers.len(),
        "the config was changed"
    );
    Ok(answer(&current))
}

fn answer(current: &Current) -> Response {
    let etag = format!("\"{}\"", current.etag);
    ([(header::ETAG, etag)], Json(current.response.clone())).into_response()
}
