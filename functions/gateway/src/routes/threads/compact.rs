//! `POST /api/threads/{thread}/compact` (agent reference 2.1): older messages give way to a summary.
//!
//! No model is called here: the agent does it, in a run that says nothing, and this waits for it.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use pudu_app::runs::configured::agent;
use pudu_app::runs::{AdmitError, Compact};
use pudu_domain::ThreadKey;
use pudu_domain::run::{Compaction, Keep, Outcome, Refused};
use pudu_domain::text::Snippet;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::answer::CompactionResult;
use crate::error::{Conflict, Failure, Missing, Unfit};
use crate::guard::Who;
use crate::input::{Agents, Body, Shape, Thread, number};
use crate::routes::runs::{located, wait};
use crate::state::Gateway;

/// A compaction that is wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct CompactRequest {
    /// `true` (default): also where the conversation is not too long by the operator's triggers.
    force: Option<bool>,
    /// What stays as it was; what the operator settled when absent.
    keep: Option<KeepRequest>,
    /// For which custom agent.
    agent_name: Option<String>,
    /// Which model writes the summary; the operator's choice when absent.
    model_name: Option<String>,
}

/// The newest part of a conversation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct KeepRequest {
    /// What is counted.
    #[serde(rename = "type")]
    kind: Counted,
    /// How many.
    #[serde(deserialize_with = "number::whole")]
    #[schema(minimum = 0, maximum = 100_000_000)]
    value: u64,
}

/// What is counted of it.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Counted {
    Messages,
    Tokens,
}

/// Most that can be kept, as in the config.
const MOST: u64 = 100_000_000;

impl Shape for CompactRequest {
    const EXPECTED: &'static str = r#"{"force": bool, "keep": {"type": "messages" or "tokens", "value": 0 to 100000000}, "agent_name": text, "model_name": text}, all optional"#;
}

/// Has the older messages of a thread give way to a summary.
///
/// Answers when that is done, and what it came to. It is a run of its own that says nothing: while it works the thread is busy, and
/// `GET …/runs` shows it by its `operation_kind`. 409 while another run is active, or where `summarization` is not enabled in the
/// config, forced or not; 502 if no model wrote a summary, and 504 if that takes longer than an answer may (it goes on, and
/// `Content-Location` says where it is).
#[utoipa::path(
    post,
    path = "/api/threads/{thread}/compact",
    operation_id = "compact_thread",
    tag = "threads",
    params(Thread),
    request_body = CompactRequest,
    responses(
        (status = OK, description = "What it came to", body = CompactionResult, headers(("Content-Location" = String, description = "The run"))),
        Missing, Conflict, Unfit, Failure,
    )
)]
pub(in crate::routes) async fn create(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
    Body(asked): Body<CompactRequest>,
) -> Result<Response, Failure> {
    let keep = asked.keep.map(KeepRequest::kept).transpose()?;
    // One of another name could be no agent's.
    let agent = asked.agent_name.as_deref().map(agent).transpose()?.flatten();
    gateway.configs.roster().await?.check(asked.model_name.as_deref())?;
    let key = ThreadKey { user: who.user, thread };
    runs.conversation(&key).await?.ok_or_else(Failure::no_such_thread)?;
    if !gateway.configs.current().await?.document.agents().summarization.enabled {
        let detail = "conversations are not summarized here: summarization.enabled is not set in the config";
        return Err(Failure::new(StatusCode::CONFLICT, detail));
    }
    let compaction = Compaction { force: asked.force.unwrap_or(true), keep };
    let wanted = Compact { thread: key, compaction, agent, model: asked.model_name, scope: who.scope };
    let run = runs.compact(wanted).await.map_err(busy)?;
    gateway.streams.changed(&run.key.thread);
    let mut response = match ended(&gateway, &runs, &run.key).await {
        Ok(result) => Json(result).into_response(),
        Err(failure) => failure.into_response(),
    };
    let mut headers = located(&run, false);
    headers.remove(http::header::LOCATION);
    response.headers_mut().extend(headers);
    Ok(response)
}

/// What it came to, when it has ended. Whoever hangs up leaves it at work: it is not his answer, and half of it is nothing.
async fn ended(
    gateway: &Gateway,
    runs: &pudu_app::runs::Runs,
    key: &pudu_domain::RunKey,
) -> Result<CompactionResult, Failure> {
    let run = runs.wait(key, wait::patience(gateway)).await?.ok_or_else(Failure::no_such_run)?;
    let Some(end) = run.end() else { return Err(wait::goes_on()) };
    let why = end.error.as_ref().map_or("it was ended", Snippet::as_str);
    match end.outcome {
        Outcome::Success => {}
        Outcome::Interrupted => {
            let detail = "the compaction was cancelled; the thread is as it was";
            return Err(Failure::new(StatusCode::CONFLICT, detail));
        }
        Outcome::Error | Outcome::Timeout => {
            return Err(Failure::new(StatusCode::BAD_GATEWAY, format!("the compaction failed: {why}")));
        }
    }
    let compacted = runs.compacted(key).await?.ok_or_else(Failure::no_such_run)?;
    Ok(CompactionResult::new(&run, &compacted))
}

/// A thread that is busy can be compacted later; there is no strategy to choose.
fn busy(error: AdmitError) -> Failure {
    match error {
        AdmitError::Refused(Refused::Busy) => {
            let detail = "the thread already has an active run; wait for it or cancel it";
            Failure::new(StatusCode::CONFLICT, detail)
        }
        error => error.into(),
    }
}

impl KeepRequest {
    fn kept(self) -> Result<Keep, Failure> {
        if self.value > MOST {
            return Err(Failure::unprocessable(format!("keep.value must be at most {MOST}")));
        }
        Ok(match self.kind {
            Counted::Messages => Keep::Messages(self.value),
            Counted::Tokens => Keep::Tokens(self.value),
        })
    }
}
