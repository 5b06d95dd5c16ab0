//! `/api/threads/{thread}/runs`: begin runs, look at them, end them (agent reference 2.2).

pub(super) mod feedback;
pub(super) mod records;
pub(super) mod replay;
pub(super) mod stream;
pub(super) mod wait;
pub(super) mod workspace;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use pudu_app::runs::modes::Modes;
use pudu_app::runs::{Action, Admitted, Runs, configured};
use pudu_domain::{IdempotencyKey, Principal, Run, ThreadId, ThreadKey};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::answer::RunRow;
use crate::error::{Conflict, Failure, Missing, Unfit};
use crate::guard::Who;
use crate::input::{Agents, Asked, Body, Params, Repeatable, RunOf, RunRequest, Thread, limit};
use crate::state::Gateway;

/// Most runs of one answer.
const MOST: usize = 1000;
/// That a run is the one that was begun by an earlier request with the same key.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Which runs.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// How many at most: 1 to 1000.
    #[serde(default = "usual")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: usize,
    /// How many are left out first.
    #[serde(default)]
    #[param(maximum = 4_294_967_295_u32)]
    offset: u32,
    /// Only runs that stand so.
    status: Option<String>,
}

const fn usual() -> usize {
    100
}

/// How a run is ended.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub(super) struct HowEnded {
    /// `interrupt` (default): what it did stays. `rollback`: the thread is as it was before.
    action: Option<String>,
    /// `1`: answers with 204 when it has ended.
    wait: Option<String>,
}

impl HowEnded {
    fn action(&self) -> Result<Action, Failure> {
        action(self.action.as_deref().unwrap_or("interrupt"))
    }
}

/// The action of that name.
fn action(name: &str) -> Result<Action, Failure> {
    match name {
        "interrupt" => Ok(Action::Interrupt),
        "rollback" => Ok(Action::Rollback),
        _ => Err(Failure::unprocessable("action must be interrupt or rollback")),
    }
}

/// What a flag of a query says, in the words of the clients that there are.
fn flag(text: Option<&str>) -> bool {
    text.is_some_and(|text| text == "1" || text.eq_ignore_ascii_case("true"))
}

/// A run that was begun, or found by its key.
struct Begun {
    run: Run,
    admitted: Admitted,
    modes: Modes,
    leaves: bool,
}

/// Begins a run in a thread.
async fn begin(
    gateway: &Gateway,
    runs: &Runs,
    who: &Principal,
    thread: ThreadId,
    key: Option<IdempotencyKey>,
    request: RunRequest,
) -> Result<Begun, Failure> {
    let Asked { wanted, modes, leaves } = request.asked(who, thread, key)?;
    if let Some(model) = configured::model(&wanted.options) {
        gateway.configs.roster().await?.check(Some(model))?;
    }
    let admitted = runs.admit(wanted).await?;
    gateway.streams.changed(&admitted.run.key.thread);
    Ok(Begun { run: admitted.run.clone(), admitted, modes, leaves })
}

/// Where a run and its stream are. `Location` is a path below the base of this API: by it the official clients come back to a
/// stream that was cut.
pub(super) fn located(run: &Run, reused: bool) -> HeaderMap {
    let path = format!("/threads/{}/runs/{}", run.key.thread.thread, run.key.id);
    let mut headers = HeaderMap::new();
    // Ids are visible ASCII.
    let mut say = |name: HeaderName, text: String| {
        headers.extend(HeaderValue::try_from(text).ok().map(|text| (name, text)));
    };
    say(header::CONTENT_LOCATION, format!("/api{path}"));
    say(header::LOCATION, format!("{path}/stream"));
    if reused {
        say(REPLAYED, "true".to_owned());
    }
    headers
}

/// Begins a run, which goes on in the background.
///
/// With an `Idempotency-Key` the same request again is the same run; another one is 422.
#[utoipa::path(
    post,
    path = "/api/threads/{thread}/runs",
    operation_id = "create_run",
    tag = "runs",
    params(Thread, Repeatable),
    request_body = RunRequest,
    responses(
        (status = OK, description = "The run", body = RunRow, headers(("Content-Location" = String, description = "The run"))),
        Missing, Conflict, Unfit, Failure,
    )
)]
pub(super) async fn create(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
    Repeatable(key): Repeatable,
    Body(request): Body<RunRequest>,
) -> Result<Response, Failure> {
    let begun = begin(&gateway, &runs, &who, thread, key, request).await?;
    let mut headers = located(&begun.run, begun.admitted.reused);
    // A client that is told where a stream is would take this answer for one.
    headers.remove(header::LOCATION);
    Ok((headers, Json(RunRow::new(&begun.run, begun.admitted.spec))).into_response())
}

/// A thread's runs, the newest first.
///
/// Without their input; fewer than `limit` where the answer would be too large.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/runs",
    operation_id = "list_runs",
    tag = "runs",
    params(Thread, Which),
    responses((status = OK, description = "The runs", body = [RunRow]), Missing, Unfit, Failure)
)]
pub(super) async fn list(
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
    Params(which): Params<Which>,
) -> Result<Json<Vec<RunRow>>, Failure> {
    limit::within(which.limit, MOST)?;
    let key = ThreadKey { user: who.user, thread };
    runs.conversation(&key).await?.ok_or_else(Failure::no_such_thread)?;
    let offset = usize::try_from(which.offset).unwrap_or(usize::MAX);
    let found = runs.list(&key, which.status.as_deref(), offset, which.limit).await?;
    Ok(Json(found.into_iter().map(|(run, spec)| RunRow::listed(&run, spec)).collect()))
}

/// One run.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/runs/{run}",
    operation_id = "get_run",
    tag = "runs",
    params(RunOf),
    responses((status = OK, description = "The run", body = RunRow), Missing, Unfit, Failure)
)]
pub(super) async fn get(Agents(runs): Agents, RunOf(key): RunOf) -> Result<Json<RunRow>, Failure> {
    let (run, spec) = runs.get(&key).await?.ok_or_else(Failure::no_such_run)?;
    Ok(Json(RunRow::new(&run, spec)))
}

/// Ends a run, with its children.
///
/// A repeat changes nothing. It has ended when this answers.
#[utoipa::path(
    post,
    path = "/api/threads/{thread}/runs/{run}/cancel",
    operation_id = "cancel_run",
    tag = "runs",
    params(RunOf, HowEnded),
    responses(
        (status = ACCEPTED, description = "It has ended"), (status = NO_CONTENT, description = "The same, with `wait=1`"),
        Missing, Unfit, Failure,
    )
)]
pub(super) async fn cancel(
    State(gateway): State<Gateway>,
    Agents(runs): Agents,
    RunOf(key): RunOf,
    Params(how): Params<HowEnded>,
) -> Result<StatusCode, Failure> {
    runs.cancel(&key, how.action()?).await?.ok_or_else(Failure::no_such_run)?;
    gateway.streams.changed(&key.thread);
    Ok(if flag(how.wait.as_deref()) { StatusCode::NO_CONTENT } else { StatusCode::ACCEPTED })
}
