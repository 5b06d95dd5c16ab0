//! `GET`, `PUT`, `DELETE /api/threads/{thread}/goal` (agent reference 1.8): what the user of a thread wants reached, to which every run
//! that he begins is held.

use axum::Json;
use pudu_app::runs::{Runs, Update};
use pudu_domain::ThreadKey;
use pudu_domain::goal::{Goal, OBJECTIVE_CHARS};
use pudu_domain::state::Write;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::answer::moment;
use crate::error::{Conflict, Failure, Missing, Unfit};
use crate::guard::Who;
use crate::input::{Agents, Body, Shape, Thread};

/// A goal that is set.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct GoalRequest {
    /// What is to be reached, in the user's words.
    #[schema(min_length = 1, max_length = 4000, pattern = "\\S")]
    objective: String,
}

impl Shape for GoalRequest {
    const EXPECTED: &'static str = r#"{"objective": text of 1 to 4000 characters}"#;
}

/// The goal of a thread.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::routes) struct ThreadGoal {
    /// `{objective, status, created_at, evaluation}`; null if it has none. `status` is `active`, or `met` once a run has reached it.
    /// `evaluation` is how it was judged last: `{verdict, reason, run_id, continuations, at}`, where `verdict` is `met`, `continues`,
    /// `waits`, `no_progress`, `exhausted`, `unreadable` or `unjudged`.
    #[schema(value_type = Option<Object>)]
    goal: Option<Value>,
}

/// The goal of a thread.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/goal",
    operation_id = "get_goal",
    tag = "threads",
    params(Thread),
    responses((status = OK, description = "The goal", body = ThreadGoal), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn get(
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
) -> Result<Json<ThreadGoal>, Failure> {
    let key = ThreadKey { user: who.user, thread };
    Ok(Json(ThreadGoal { goal: goal(&runs, &key).await? }))
}

/// Sets the goal of a thread.
///
/// Runs that a user begins from then on are held to it: behind each answer a model judges whether it is met, and if not the run goes
/// on, at most eight times. It takes the place of the one before. Not while a run is active.
#[utoipa::path(
    put,
    path = "/api/threads/{thread}/goal",
    operation_id = "set_goal",
    tag = "threads",
    params(Thread),
    request_body = GoalRequest,
    responses((status = OK, description = "The goal", body = ThreadGoal), Missing, Conflict, Unfit, Failure)
)]
pub(in crate::routes) async fn put(
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
    Body(asked): Body<GoalRequest>,
) -> Result<Json<ThreadGoal>, Failure> {
    // Counted as it is sent: a contract knows nothing of the white space that is left out.
    let fits = asked.objective.chars().nth(OBJECTIVE_CHARS).is_none();
    let goal =
        Goal::new(&asked.objective, moment(runs.clock.now())).ok().filter(|_| fits).ok_or_else(|| {
            let detail =
                format!("objective must be 1 to {OBJECTIVE_CHARS} characters, not all of them white space");
            Failure::unprocessable(detail)
        })?;
    let thread = ThreadKey { user: who.user, thread };
    let writes = vec![Write::Goal(Some(goal.written()))];
    let view = runs.update(Update { thread, writes, base: None }).await?;
    Ok(Json(ThreadGoal { goal: view.state.goal }))
}

/// Forgets the goal of a thread.
///
/// The same if it has none. Not while a run is active.
#[utoipa::path(
    delete,
    path = "/api/threads/{thread}/goal",
    operation_id = "forget_goal",
    tag = "threads",
    params(Thread),
    responses((status = OK, description = "No goal", body = ThreadGoal), Missing, Conflict, Unfit, Failure)
)]
pub(in crate::routes) async fn delete(
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
) -> Result<Json<ThreadGoal>, Failure> {
    let thread = ThreadKey { user: who.user, thread };
    if goal(&runs, &thread).await?.is_some() {
        runs.update(Update { thread, writes: vec![Write::ForgetGoal], base: None }).await?;
    }
    Ok(Json(ThreadGoal { goal: None }))
}

async fn goal(runs: &Runs, thread: &ThreadKey) -> Result<Option<Value>, Failure> {
    Ok(runs.state(thread, None).await?.ok_or_else(Failure::no_such_thread)?.state.goal)
}
