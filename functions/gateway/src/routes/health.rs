//! `GET /healthz`: whether this gateway can answer, which takes the table.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::Failure;
use crate::state::Gateway;

/// That it can.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// `ok`.
    status: &'static str,
    /// Of Pudu.
    version: &'static str,
    /// Which revision of the config is in force.
    config_revision: u64,
}

/// 200 when the config can be read from the table; else the reason.
#[utoipa::path(
    get,
    path = "/healthz",
    operation_id = "get_health",
    tag = "service",
    security(()),
    responses((status = OK, description = "It answers", body = Health), Failure)
)]
pub(super) async fn get(State(gateway): State<Gateway>) -> Result<Json<Health>, Failure> {
    let current = gateway.configs.current().await?;
    let config_revision = current.version.number;
    Ok(Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION"), config_revision }))
}
