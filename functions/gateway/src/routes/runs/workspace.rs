//! `GET …/runs/{run}/workspace-changes`: which files of its thread's workspace a run changed (agent reference 2.2).
//!
//! A thread has no workspace until there is a sandbox to have it in: no tool of this house writes a file, and what a server writes is
//! the server's. So the answer is the one that the reference gives where nothing was recorded, and says why.

use axum::Json;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::error::{Failure, Missing, Unfit};
use crate::input::{Agents, RunOf};

/// The form of the answer, as the reference counts.
const VERSION: u32 = 2;
/// Why nothing can have changed.
const REASON: &str = "no sandbox is configured here: threads have no workspace, so a run can change none";

/// What a run changed in its thread's workspace.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::routes) struct WorkspaceChanges {
    /// Whether there is a workspace whose changes are recorded: false without a sandbox.
    available: bool,
    /// Why not.
    reason: &'static str,
    version: u32,
    summary: Summary,
    /// Empty where there is no workspace.
    #[schema(value_type = Vec<Object>)]
    files: Vec<Value>,
    #[schema(value_type = Object)]
    limits: Map<String, Value>,
}

/// How much was changed.
#[derive(Debug, Default, Serialize, ToSchema)]
struct Summary {
    created: u32,
    modified: u32,
    deleted: u32,
    additions: u32,
    deletions: u32,
    truncated: bool,
}

/// What a run changed in its thread's workspace.
///
/// Nothing, and `available` is false, as long as there is no sandbox that a thread could have a workspace in.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/runs/{run}/workspace-changes",
    operation_id = "get_workspace_changes",
    tag = "runs",
    params(RunOf),
    responses((status = OK, description = "The changes", body = WorkspaceChanges), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn get(
    Agents(runs): Agents,
    RunOf(key): RunOf,
) -> Result<Json<WorkspaceChanges>, Failure> {
    runs.get(&key).await?.ok_or_else(Failure::no_such_run)?;
    Ok(Json(WorkspaceChanges {
        available: false,
        reason: REASON,
        version: VERSION,
        summary: Summary::default(),
        files: Vec::new(),
        limits: Map::new(),
    }))
}
