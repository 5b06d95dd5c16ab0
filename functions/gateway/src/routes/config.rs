//! `GET` and `PUT /api/mcp/config`: masked out, merged and validated whole in (reference 8.1, 5.10, 5.11).

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use pudu_app::configs::Current;
use serde_json::Value;

use crate::error::Failure;
use crate::input::Body;
use crate::state::Gateway;

pub(super) async fn get(State(gateway): State<Gateway>) -> Result<Response, Failure> {
    Ok(answer(&*gateway.configs.current().await?))
}

pub(super) async fn put(
    State(gateway): State<Gateway>,
    Body(body): Body<Value>,
) -> Result<Response, Failure> {
    let current = gateway.configs.put(&body).await?;
    tracing::info!(
        config.revision = current.number,
        servers = current.servers.len(),
        "the config was changed"
    );
    Ok(answer(&current))
}

fn answer(current: &Current) -> Response {
    let etag = format!("\"{}\"", current.etag);
    ([(header::ETAG, etag)], Json(current.response.clone())).into_response()
}
