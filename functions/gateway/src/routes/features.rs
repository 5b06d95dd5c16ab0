//! `GET /api/features`: what works here now (reference 8.3).

use axum::Json;
use axum::extract::State;
use pudu_app::ports::Background;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::Failure;
use crate::guard::Who;
use crate::state::Gateway;

/// What works here.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Features {
    mcp_tasks: Feature,
}

/// Whether it works.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Feature {
    /// Not whether it is configured: somebody was seen at work within two periods of the schedule.
    enabled: bool,
}

/// What works here now.
#[utoipa::path(
    get,
    path = "/api/features",
    operation_id = "get_features",
    tag = "service",
    responses((status = OK, description = "What works", body = Features), Failure)
)]
pub(super) async fn get(State(gateway): State<Gateway>, _: Who) -> Result<Json<Features>, Failure> {
    let enabled = gateway.tasks.settle.wakeups.is_attended(Background::Poller).await?;
    Ok(Json(Features { mcp_tasks: Feature { enabled } }))
}
