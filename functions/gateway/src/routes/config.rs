//! The config: `GET`, `PUT` and `PATCH /api/mcp/config`, and one server of it: `POST /api/mcp/config/servers`, `PUT` and `DELETE
//! …/servers/{name}` (reference 8.1, 5.10, 5.11). Masked out; merged, validated whole and screened in.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use pudu_app::configs::{By, ChangeError, Current};
use pudu_app::ports::Author;
use pudu_domain::Principal;
use serde_json::Value;

use crate::error::Failure;
use crate::guard::Admin;
use crate::input::{Body, IfMatch, IfNoneMatch, tagged};
use crate::state::Gateway;

pub(super) async fn get(
    State(gateway): State<Gateway>,
    _: Admin,
    known: IfNoneMatch,
) -> Result<Response, Failure> {
    let current = gateway.configs.current().await?;
    if known.has(&current.etag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tagged(&current.etag))]).into_response());
    }
    Ok(answer(&current))
}

pub(super) async fn put(
    State(gateway): State<Gateway>,
    Admin(who): Admin,
    over: IfMatch,
    Body(body): Body<Value>,
) -> Result<Response, Failure> {
    let author = Author::new(&who, "config.put", "every server");
    let made = gateway.configs.put(&body, by(&over, &author));
    changed(&gateway, &who, &author, made).await
}

/// On whose behalf a change is made, and over which config.
pub(super) fn by<'a>(IfMatch(read): &'a IfMatch, author: &'a Author) -> By<'a> {
    By { read: read.as_deref(), author: Some(author) }
}

/// Makes a change between the two writes of its record; the answer is the config after it.
pub(super) async fn changed(
    gateway: &Gateway,
    who: &Principal,
    author: &Author,
    change: impl Future<Output = Result<Arc<Current>, ChangeError>> + Send,
) -> Result<Response, Failure> {
    let current = gateway.audit.change(who, &author.action, &author.target, change).await?;
    gateway.catalog.adopt(&current);
    tracing::info!(
        config.revision = current.version.number,
        servers = current.servers.len(),
        "the config was changed"
    );
    Ok(answer(&current))
}

fn answer(current: &Current) -> Response {
    ([(header::ETAG, tagged(&current.etag))], Json(current.response.clone())).into_response()
}
