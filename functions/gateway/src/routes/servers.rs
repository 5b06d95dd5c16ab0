//! How the MCP servers stand: `GET /api/mcp/servers`, and one asked afresh: `POST /api/mcp/servers/{name}/probe`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::answer::{ProbeResult, ServerRow};
use crate::error::{Failure, Forbidden, Missing, Unfit};
use crate::guard::Admin;
use crate::input::{Params, ServerName};
use crate::state::Gateway;

/// Whether to look or to ask.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct How {
    /// Asks every server that is on, for a few seconds at most, before it is told how they stand.
    #[serde(default)]
    #[param(default = false)]
    refresh: bool,
}

/// How each MCP server stands, as far as is known here: without `refresh` none is asked.
#[utoipa::path(
    get,
    path = "/api/mcp/servers",
    operation_id = "list_servers",
    tag = "config",
    params(How),
    security(("bearer" = ["admin"])),
    responses((status = OK, description = "By their names, disabled ones too", body = [ServerRow]), Forbidden, Unfit, Failure)
)]
pub(super) async fn list(
    State(gateway): State<Gateway>,
    _: Admin,
    Params(how): Params<How>,
) -> Result<Json<Vec<ServerRow>>, Failure> {
    if how.refresh {
        gateway.catalog.refresh(gateway.limits.front_door).await?;
    }
    let servers = gateway.catalog.overview().await?;
    Ok(Json(servers.into_iter().map(ServerRow::from).collect()))
}

/// Tests the connection to one MCP server, on or off: asks it for its tools, now and with its own credentials.
#[utoipa::path(
    post,
    path = "/api/mcp/servers/{name}/probe",
    operation_id = "probe_server",
    tag = "config",
    params(ServerName),
    security(("bearer" = ["admin"])),
    responses((status = OK, description = "What came of it, also when it failed", body = ProbeResult), Forbidden, Missing, Failure)
)]
pub(super) async fn probe(
    State(gateway): State<Gateway>,
    _: Admin,
    ServerName(name): ServerName,
) -> Result<Json<ProbeResult>, Failure> {
    let probed = gateway.catalog.probe(&name, gateway.limits.front_door).await?;
    let unknown = || Failure::new(StatusCode::NOT_FOUND, "there is no such server in the config");
    Ok(Json(probed.ok_or_else(unknown)?.into()))
}
