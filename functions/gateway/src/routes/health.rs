//! `GET /healthz`: whether this gateway can answer, which takes the table.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::error::Failure;
use crate::state::Gateway;

/// 200 when the config can be read from the table; else the reason.
pub(super) async fn get(State(gateway): State<Gateway>) -> Result<Json<Value>, Failure> {
    let current = gateway.configs.current().await?;
    Ok(Json(json!({
        "status": "ok",
        "version": env!("CARGO_PKG_VERSION"),
        "config_revision": current.version.number,
    })))
}
