//! `GET …/runs/{run}/messages` and `…/events`, and `GET /api/runs/{run}/messages`: what a run left in its thread's history.

use axum::Json;
use axum::extract::State;
use pudu_app::ports::{Record, RecordQuery, StoreError};
use pudu_app::runs::{is_of, place, position};
use pudu_domain::ThreadKey;
use pudu_domain::run::Notice;
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;

use crate::answer::{MessageRecord, RunMessages, RunRecord};
use crate::error::{Failure, Missing, Unfit};
use crate::input::{Agents, Params, RunAlone, RunOf, limit, number};
use crate::state::Gateway;

/// Most messages of one answer.
const MESSAGES: usize = 200;
/// Most events.
const EVENTS: usize = 2000;

/// Which messages.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::routes) struct Messages {
    /// How many at most: 1 to 200.
    #[serde(default = "usual_messages")]
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: usize,
    /// The newest before the record of this `seq`.
    #[serde(default, deserialize_with = "number::exact")]
    #[param(maximum = 9_007_199_254_740_991_u64)]
    before_seq: Option<u64>,
    /// The oldest after the record of this `seq`.
    #[serde(default, deserialize_with = "number::exact")]
    #[param(maximum = 9_007_199_254_740_991_u64)]
    after_seq: Option<u64>,
}

/// Which events.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::routes) struct Events {
    /// How many at most: 1 to 2000.
    #[serde(default = "usual_events")]
    #[param(minimum = 1, maximum = 2000, default = 500)]
    limit: usize,
    /// Types, separated by commas.
    event_types: Option<String>,
    /// Those of one subagent, by the id of the call that began it.
    task_id: Option<String>,
    /// Those after the record of this `seq`.
    #[serde(default, deserialize_with = "number::exact")]
    #[param(maximum = 9_007_199_254_740_991_u64)]
    after_seq: Option<u64>,
}

const fn usual_messages() -> usize {
    50
}

const fn usual_events() -> usize {
    500
}

/// The messages of a run, in order.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/runs/{run}/messages",
    operation_id = "list_run_messages",
    tag = "runs",
    params(RunOf, Messages),
    responses((status = OK, description = "The messages", body = RunMessages), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn messages(
    State(gateway): State<Gateway>,
    Agents(runs): Agents,
    RunOf(key): RunOf,
    Params(which): Params<Messages>,
) -> Result<Json<RunMessages>, Failure> {
    limit::within(which.limit, MESSAGES)?;
    if which.before_seq.is_some() && which.after_seq.is_some() {
        return Err(Failure::unprocessable("give before_seq or after_seq, not both"));
    }
    let (run, _) = runs.get(&key).await?.ok_or_else(Failure::no_such_run)?;
    let backwards = which.after_seq.is_none();
    let query = RecordQuery {
        ordinal: Some(run.ordinal),
        before: which.before_seq.map(place),
        after: which.after_seq.map(place),
        newest_first: backwards,
        limit: which.limit,
    };
    let (mut found, has_more) = runs.records(&key.thread, &query, |record| is_of(record, "message")).await?;
    if backwards {
        found.reverse();
    }
    let is_open = which.before_seq.is_some() || (!backwards && has_more);
    Ok(Json(RunMessages { data: shown(&gateway, &key.thread, found, is_open).await?, has_more }))
}

/// Messages as they are shown, with the feedback that stands beside them. Whether there may be later ones is `is_open`.
pub(in crate::routes) async fn shown(
    gateway: &Gateway,
    thread: &ThreadKey,
    messages: Vec<Record>,
    is_open: bool,
) -> Result<Vec<MessageRecord>, StoreError> {
    let mut given = gateway.feedback.beside(thread, &messages, is_open).await?;
    let shown = messages.into_iter().filter_map(|message| {
        let feedback = given.remove(&position(&message));
        Some(MessageRecord::new(RunRecord::new(message)?, feedback))
    });
    Ok(shown.collect())
}

/// The same of a run by its id alone, in whichever thread of the caller's it is.
#[utoipa::path(
    get,
    path = "/api/runs/{run}/messages",
    operation_id = "list_messages_of_run",
    tag = "runs",
    params(RunAlone, Messages),
    responses((status = OK, description = "The messages", body = RunMessages), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn messages_of(
    gateway: State<Gateway>,
    agents: Agents,
    RunAlone(key): RunAlone,
    which: Params<Messages>,
) -> Result<Json<RunMessages>, Failure> {
    messages(gateway, agents, RunOf(key), which).await
}

/// Everything that a run left in the history, in order.
///
/// Fewer than `limit` where the answer would be too large: there is more until `after_seq` brings nothing.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/runs/{run}/events",
    operation_id = "list_run_events",
    tag = "runs",
    params(RunOf, Events),
    responses((status = OK, description = "The records", body = [RunRecord]), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn events(
    Agents(runs): Agents,
    RunOf(key): RunOf,
    Params(which): Params<Events>,
) -> Result<Json<Vec<RunRecord>>, Failure> {
    limit::within(which.limit, EVENTS)?;
    let (run, _) = runs.get(&key).await?.ok_or_else(Failure::no_such_run)?;
    let types = which.event_types.iter().flat_map(|types| types.split(',')).map(str::trim);
    let types: Vec<&str> = types.filter(|name| !name.is_empty()).collect();
    let query = RecordQuery {
        ordinal: Some(run.ordinal),
        after: which.after_seq.map(place),
        limit: which.limit,
        ..RecordQuery::default()
    };
    let (found, _) = runs
        .records(&key.thread, &query, |record| {
            let Notice::Record { event_type, content, .. } = &record.notice else { return false };
            (types.is_empty() || types.contains(&event_type.as_str()))
                && which.task_id.as_deref().is_none_or(|wanted| is_of_task(content, wanted))
        })
        .await?;
    Ok(Json(found.into_iter().filter_map(RunRecord::new).collect()))
}

/// Whether a record is one of that subagent: those say whose they are in what they hold.
fn is_of_task(content: &Value, task: &str) -> bool {
    content.get("task_id").and_then(Value::as_str) == Some(task)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_of_a_subagent_is_known_by_what_it_holds() {
        assert!(is_of_task(&json!({"task_id": "c1", "text": "x"}), "c1"));
        assert!(!is_of_task(&json!({"task_id": "c2"}), "c1"));
        assert!(!is_of_task(&json!("c1"), "c1"));
    }
}
