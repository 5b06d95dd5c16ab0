//! `POST …/runs/wait` and `POST /api/runs/wait`: begin a run and answer when it has ended.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use pudu_app::chain::Chain;
use pudu_app::runs::{Action, Runs, values};
use pudu_config::sha256_hex;
use pudu_domain::run::Outcome;
use pudu_domain::text::{Snippet, first_chars};
use pudu_domain::{IdempotencyKey, Run, RunKey, ThreadId, ThreadKey, UserId};
use serde_json::{Value, json};

use super::{begin, located};
use crate::error::{Conflict, Failure, Missing, Unfit};
use crate::guard::Who;
use crate::input::{Agents, Body, Repeatable, RunRequest, Thread};
use crate::routes::threads::fresh;
use crate::state::Gateway;

/// How long a caller waits at least, also where an answer is sent only as a whole.
const LEAST: Duration = Duration::from_secs(20);

/// Begins a run and answers when it has ended: with the values of its state, or `{"status", "error"}` if it failed.
///
/// 504 if it goes on for longer than an answer may take here; the run goes on, and `Content-Location` says where it is.
#[utoipa::path(
    post,
    path = "/api/threads/{thread}/runs/wait",
    operation_id = "wait_for_new_run",
    tag = "runs",
    params(Thread, Repeatable),
    request_body = RunRequest,
    responses(
        (status = OK, description = "The values, by channel", body = Value, headers(("Content-Location" = String, description = "The run"))),
        Missing, Conflict, Unfit, Failure,
    )
)]
pub(in crate::routes) async fn create(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
    Repeatable(key): Repeatable,
    Body(request): Body<RunRequest>,
) -> Result<Response, Failure> {
    let begun = begin(&gateway, &runs, &who, thread, key, request).await?;
    let leaves = begun.leaves && !begun.admitted.reused;
    let mut response = match ended(&gateway, &runs, &begun.run.key, leaves).await {
        Ok(response) => response,
        Err(failure) => failure.into_response(),
    };
    let mut headers = located(&begun.run, begun.admitted.reused);
    headers.remove(http::header::LOCATION);
    response.headers_mut().extend(headers);
    Ok(response)
}

/// The same in the thread that `config.configurable.thread_id` names, or in a new one.
#[utoipa::path(
    post,
    path = "/api/runs/wait",
    operation_id = "wait_for_stateless_run",
    tag = "runs",
    params(Repeatable),
    request_body = RunRequest,
    responses((status = OK, description = "The values, by channel", body = Value), Missing, Conflict, Unfit, Failure)
)]
pub(in crate::routes) async fn create_anywhere(
    State(gateway): State<Gateway>,
    who: Who,
    agents: Agents,
    key: Repeatable,
    Body(request): Body<RunRequest>,
) -> Result<Response, Failure> {
    let thread = somewhere(&gateway, &who, key.0.as_ref(), &request).await?;
    Box::pin(create(State(gateway), who, agents, Thread(thread), key, Body(request))).await
}

/// The thread of a request that has none in its path: the one that it names, or a new one. With a key that is the key's, so that a
/// repetition finds the first run.
pub(super) async fn somewhere(
    gateway: &Gateway,
    who: &Who,
    key: Option<&IdempotencyKey>,
    request: &RunRequest,
) -> Result<ThreadId, Failure> {
    let thread = match (request.thread()?, key) {
        (Some(thread), _) => thread,
        (None, Some(key)) => of_key(&who.0.user, key)?,
        (None, None) => return fresh(gateway),
    };
    let key = ThreadKey { user: who.0.user.clone(), thread };
    if gateway.threads.is_going(&key).await? {
        return Err(Failure::no_such_thread());
    }
    Ok(key.thread)
}

/// The thread that stands for a key of a user.
fn of_key(user: &UserId, key: &IdempotencyKey) -> Result<ThreadId, Failure> {
    let digest = sha256_hex(&json!([user.as_str(), key.as_str()]));
    let id = format!("key-{}", first_chars(&digest, 48));
    ThreadId::parse(id).map_err(|error| Failure::unprocessable(error.to_string()))
}

/// What a run came to, when it has; a caller that leaves takes it along if `leaves`.
pub(super) async fn ended(
    gateway: &Gateway,
    runs: &Runs,
    key: &RunKey,
    leaves: bool,
) -> Result<Response, Failure> {
    let mut caller = Caller { gateway: gateway.clone(), runs: runs.clone(), key: key.clone(), leaves };
    let run = runs.wait(key, patience(gateway)).await;
    caller.leaves = false;
    let run = run?.ok_or_else(Failure::no_such_run)?;
    let Some(end) = run.end() else { return Err(goes_on()) };
    if matches!(end.outcome, Outcome::Error | Outcome::Timeout) {
        let (status, error) = (end.outcome.as_str(), end.error.as_ref().map(Snippet::as_str));
        // The second form is the one in which the official clients look for it.
        let told = json!({ "error": status, "message": error.unwrap_or("the run failed") });
        return Ok(Json(json!({ "status": status, "error": error, "__error__": told })).into_response());
    }
    Ok(Json(Value::Object(last(runs, &run).await?)).into_response())
}

/// How long a caller may wait.
pub(in crate::routes) fn patience(gateway: &Gateway) -> Duration {
    gateway.streams.lifetime().max(LEAST)
}

/// The answer to a caller who waited for that long.
pub(in crate::routes) fn goes_on() -> Failure {
    let detail = "the run goes on, for longer than an answer may take here; join it, or look at it later";
    Failure::new(StatusCode::GATEWAY_TIMEOUT, detail)
}

/// The values of a run's last checkpoint.
async fn last(runs: &Runs, run: &Run) -> Result<serde_json::Map<String, Value>, Failure> {
    let state = match run.head() {
        Some(head) => runs.checkpoints.state(&run.key, head.number).await?,
        None => runs.state(&run.key.thread, None).await?.map(|view| view.state).unwrap_or_default(),
    };
    Ok(values::shown(state))
}

/// Somebody who waits: dropped while it waits, it has hung up.
struct Caller {
    gateway: Gateway,
    runs: Runs,
    key: RunKey,
    leaves: bool,
}

impl Drop for Caller {
    fn drop(&mut self) {
        if !self.leaves {
            return;
        }
        let (runs, key) = (self.runs.clone(), self.key.clone());
        self.gateway.calls.spawn(async move {
            if let Err(error) = runs.cancel(&key, Action::Interrupt).await {
                tracing::warn!(run.id = %key.id, error = %Chain(&error), "a run whose caller is gone goes on");
            }
        });
    }
}
