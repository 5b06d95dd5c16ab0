//! `GET`, `POST /api/threads/{thread}/state` and `POST …/history`.

use axum::Json;
use axum::extract::FromRequestParts;
use http::request::Parts;
use pudu_app::runs::{Update, values};
use pudu_domain::ThreadKey;
use pudu_domain::conversation::Head;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use crate::answer::ThreadState;
use crate::error::{Conflict, Failure, Missing, Unfit};
use crate::guard::Who;
use crate::input::{Agents, Body, Shape, Thread, base, limit, number, param, params};
use crate::state::Gateway;

/// Most entries of a history.
const MOST: usize = 100;
/// Where the request does not say.
const USUAL: usize = 10;

/// The checkpoint of the path.
#[derive(IntoParams)]
#[into_params(names("checkpoint"), parameter_in = Path)]
pub(in crate::routes) struct Named(
    /// A checkpoint of the thread
    #[param(value_type = String)]
    Head,
);

impl FromRequestParts<Gateway> for Named {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Failure> {
        let params = params(parts, gateway).await?;
        let head = base(param(&params, "checkpoint"), None)?;
        head.map(Self).ok_or_else(|| Failure::unprocessable("checkpoint_id is no checkpoint's id"))
    }
}

/// Which checkpoint.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(in crate::routes) struct AtCheckpoint {
    /// `{"checkpoint_id": …}`.
    #[schema(value_type = Option<Object>)]
    checkpoint: Option<Map<String, Value>>,
}

impl Shape for AtCheckpoint {
    const EXPECTED: &'static str = r#"{"checkpoint": {"checkpoint_id": text}}"#;
}

/// What is written.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(in crate::routes) struct StateUpdate {
    /// By channel, merged as the channel merges.
    #[schema(value_type = Option<Object>)]
    values: Option<Map<String, Value>>,
    /// In whose name; it is not looked at.
    as_node: Option<String>,
    /// Over which checkpoint; the newest when absent.
    checkpoint_id: Option<String>,
    /// The same as `{"checkpoint_id": …}`.
    #[schema(value_type = Option<Object>)]
    checkpoint: Option<Map<String, Value>>,
}

impl Shape for StateUpdate {
    const EXPECTED: &'static str = r#"{"values": {channel: value}, "checkpoint_id": text}"#;
}

/// Which entries.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(in crate::routes) struct HistoryRequest {
    /// 1 to 100, 10 when absent.
    #[serde(deserialize_with = "number::optional")]
    #[schema(minimum = 1, maximum = 100)]
    limit: Option<usize>,
    /// Those before this checkpoint: its id, or `{"configurable": {"checkpoint_id": …}}`.
    #[schema(value_type = Option<Object>)]
    before: Value,
}

impl Shape for HistoryRequest {
    const EXPECTED: &'static str = r#"{"limit": 1 to 100, "before": a checkpoint's id}, both optional"#;
}

/// The state of a thread.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/state",
    operation_id = "get_state",
    tag = "threads",
    params(Thread),
    responses((status = OK, description = "The newest state", body = ThreadState), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn get(
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
) -> Result<Json<ThreadState>, Failure> {
    let key = ThreadKey { user: who.user, thread };
    let view = runs.state(&key, None).await?.ok_or_else(Failure::no_such_thread)?;
    Ok(Json(ThreadState::new(view, true)))
}

/// The state of a thread as of a checkpoint.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/state/{checkpoint}",
    operation_id = "get_state_at",
    tag = "threads",
    params(Thread, Named),
    responses((status = OK, description = "The state then", body = ThreadState), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn at(
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
    Named(head): Named,
) -> Result<Json<ThreadState>, Failure> {
    let key = ThreadKey { user: who.user, thread };
    let view = runs.state(&key, Some(&head)).await?.ok_or_else(Failure::no_such_thread)?;
    Ok(Json(ThreadState::new(view, false)))
}

/// The state of a thread as of a checkpoint that the body names.
#[utoipa::path(
    post,
    path = "/api/threads/{thread}/state/checkpoint",
    operation_id = "get_state_at_checkpoint",
    tag = "threads",
    params(Thread),
    request_body = AtCheckpoint,
    responses((status = OK, description = "The state then", body = ThreadState), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn at_checkpoint(
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
    Body(asked): Body<AtCheckpoint>,
) -> Result<Json<ThreadState>, Failure> {
    let key = ThreadKey { user: who.user, thread };
    let head = base(None, asked.checkpoint.as_ref())?;
    let view = runs.state(&key, head.as_ref()).await?.ok_or_else(Failure::no_such_thread)?;
    Ok(Json(ThreadState::new(view, head.is_none())))
}

/// Writes into the state of a thread.
///
/// A checkpoint of its own; not while a run is active.
#[utoipa::path(
    post,
    path = "/api/threads/{thread}/state",
    operation_id = "update_state",
    tag = "threads",
    params(Thread),
    request_body = StateUpdate,
    responses((status = OK, description = "The state after it", body = ThreadState), Missing, Conflict, Unfit, Failure)
)]
pub(in crate::routes) async fn update(
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
    Body(update): Body<StateUpdate>,
) -> Result<Json<ThreadState>, Failure> {
    let base = base(update.checkpoint_id.as_deref(), update.checkpoint.as_ref())?;
    let writes = values::writes(update.values.unwrap_or_default())?;
    let thread = ThreadKey { user: who.user, thread };
    let view = runs.update(Update { thread, writes, base }).await?;
    Ok(Json(ThreadState::new(view, true)))
}

/// The checkpoints of a thread, the newest first.
///
/// Only the newest entry has its messages.
#[utoipa::path(
    post,
    path = "/api/threads/{thread}/history",
    operation_id = "get_history",
    tag = "threads",
    params(Thread),
    request_body = HistoryRequest,
    responses((status = OK, description = "The entries", body = [ThreadState]), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn history(
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
    Body(asked): Body<HistoryRequest>,
) -> Result<Json<Vec<ThreadState>>, Failure> {
    let limit = limit::within(asked.limit.unwrap_or(USUAL), MOST)?;
    let before = before(&asked.before)?;
    let key = ThreadKey { user: who.user, thread };
    let entries = runs.history(&key, before.as_ref(), limit).await?.ok_or_else(Failure::no_such_thread)?;
    let newest = |place: usize| place == 0 && before.is_none();
    let shown = entries.into_iter().enumerate();
    Ok(Json(
        shown
            .map(|(place, (checkpoint, state))| {
                ThreadState::past(&key.thread, checkpoint, state, newest(place))
            })
            .collect(),
    ))
}

/// The checkpoint before which a history begins, in any of the forms in which clients say it.
fn before(value: &Value) -> Result<Option<Head>, Failure> {
    match value {
        Value::Null => Ok(None),
        Value::String(id) => base(Some(id), None),
        Value::Object(fields) => match fields.get("configurable").and_then(Value::as_object) {
            Some(inner) => base(None, Some(inner)),
            None => base(None, Some(fields)),
        },
        _ => Err(Failure::unprocessable("before is no checkpoint's id")),
    }
}
