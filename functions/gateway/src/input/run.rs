//! What names a run, and how one is wanted: `RunCreateRequest` (agent reference 2.3), whose unknown fields are refused.

use std::collections::BTreeMap;
use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::StatusCode;
use http::request::Parts;
use pudu_app::runs::configured::{self, Configured};
use pudu_app::runs::modes::Modes;
use pudu_app::runs::{Runs, Wanted, said};
use pudu_domain::chat::{Message, Speaker};
use pudu_domain::conversation::Head;
use pudu_domain::run::{Operation, Strategy};
use pudu_domain::{IdempotencyKey, Principal, RunId, RunKey, ThreadId, ThreadKey};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{Shape, Thread, param, params};
use crate::error::Failure;
use crate::guard::Who;
use crate::state::Gateway;

/// Most bytes of what is said to a run, with its options, as JSON: they stand in one row.
const MAX_BYTES: usize = 256 * 1024;
/// Of the metadata: what only this house notes of a run.
const OURS: [&str; 1] = ["mcp_task_notification"];

/// Runs of agents.
pub(crate) struct Agents(pub(crate) Runs);

impl FromRequestParts<Gateway> for Agents {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, gateway: &Gateway) -> Result<Self, Infallible> {
        Ok(Self(gateway.runs.clone()))
    }
}

/// The run of the path, whose thread is not being deleted; what can be no id is no run.
pub(crate) struct RunOf(pub(crate) RunKey);

impl FromRequestParts<Gateway> for RunOf {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Failure> {
        let Who(who) = Who::from_request_parts(parts, gateway).await?;
        let Thread(thread) = Thread::from_request_parts(parts, gateway).await?;
        let params = params(parts, gateway).await?;
        let thread = ThreadKey { user: who.user, thread };
        let run = Runs::address(&thread, param(&params, "run").unwrap_or_default());
        run.map(Self).ok_or_else(Failure::no_such_run)
    }
}

/// The run of the path where no thread is: one of the caller's, whose thread is not being deleted.
pub(crate) struct RunAlone(pub(crate) RunKey);

impl FromRequestParts<Gateway> for RunAlone {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Failure> {
        let Who(who) = Who::from_request_parts(parts, gateway).await?;
        let params = params(parts, gateway).await?;
        let none = || Failure::new(StatusCode::NOT_FOUND, "there is no such run");
        let id = RunId::parse(param(&params, "run").unwrap_or_default()).map_err(|_| none())?;
        let key = gateway.runs.locate(&who.user, &id).await?.ok_or_else(none)?;
        if gateway.threads.is_going(&key.thread).await? {
            return Err(none());
        }
        Ok(Self(key))
    }
}

/// A run that is wanted.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RunRequest {
    /// `lead_agent`, or the name of a custom agent: letters, digits and hyphens.
    #[schema(example = "lead_agent")]
    assistant_id: Option<String>,
    /// What is said: `{"messages": [{"role": "user", "content": "…"}]}`.
    #[schema(value_type = Option<Object>)]
    input: Option<Map<String, Value>>,
    /// `{"resume": …}`: the answer to a question, in the place of an input.
    #[schema(value_type = Option<Object>)]
    command: Option<Map<String, Value>>,
    /// What is noted of the run.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
    /// `{"configurable": {…}, "context": {…}, "recursion_limit": 1 to 1000}`.
    #[schema(value_type = Option<Object>)]
    config: Option<Map<String, Value>>,
    /// Options of the agent, before those of `config`; `secrets` among them, which are stored sealed and shown to nobody.
    #[schema(value_type = Option<Object>)]
    context: Option<Map<String, Value>>,
    /// Null.
    #[schema(value_type = Option<Object>)]
    webhook: Value,
    /// From which checkpoint it begins.
    checkpoint_id: Option<String>,
    /// The same as `{"checkpoint_id": …}`.
    #[schema(value_type = Option<Object>)]
    checkpoint: Option<Map<String, Value>>,
    /// Null or empty.
    #[schema(value_type = Option<Object>)]
    interrupt_before: Value,
    /// Null or empty.
    #[schema(value_type = Option<Object>)]
    interrupt_after: Value,
    /// One or more of `values` (default), `messages-tuple`, `updates`, `tasks`, `checkpoints`, `debug`, `custom`.
    #[schema(value_type = Option<Object>)]
    stream_mode: Value,
    /// Whether the frames of subagents are told as well; they always are.
    stream_subgraphs: Option<bool>,
    /// Whether the stream can be resumed; it always can.
    stream_resumable: Option<bool>,
    /// `cancel` (default) or `continue`: what becomes of the run when whoever streams or waits for it is gone.
    on_disconnect: Option<String>,
    /// Null.
    #[schema(value_type = Option<Object>)]
    on_completion: Value,
    /// `reject` (default), `interrupt`, `rollback` or `enqueue`: what happens while the thread has an active run.
    multitask_strategy: Option<String>,
    /// Null.
    #[schema(value_type = Option<Object>)]
    after_seconds: Value,
    /// `create` (default), or `reject` a thread that is not there.
    if_not_exists: Option<String>,
    /// Null.
    #[schema(value_type = Option<Object>)]
    feedback_keys: Value,
}

impl Shape for RunRequest {
    const EXPECTED: &'static str =
        r#"{"input": {"messages": […]}} and what else the contract knows of a run, nothing else"#;
}

/// A run as it was asked for.
pub(crate) struct Asked {
    /// What is admitted.
    pub(crate) wanted: Wanted,
    /// What of its stream is told.
    pub(crate) modes: Modes,
    /// Whether it ends with whoever asked for it.
    pub(crate) leaves: bool,
}

impl RunRequest {
    /// The thread that a request without one in its path names.
    pub(crate) fn thread(&self) -> Result<Option<ThreadId>, Failure> {
        let config = self.config.clone().map_or(Value::Null, Value::Object);
        Ok(configured::thread(&config)?)
    }

    /// What is wanted in `thread`.
    pub(crate) fn asked(
        self,
        who: &Principal,
        thread: ThreadId,
        key: Option<IdempotencyKey>,
    ) -> Result<Asked, Failure> {
        self.nothing_else()?;
        let assistant = self.assistant_id.unwrap_or_else(|| configured::LEAD.to_owned());
        let config = self.config.map_or(Value::Null, Value::Object);
        let context = self.context.map_or(Value::Null, Value::Object);
        let settled = configured::configure(&assistant, &config, &context, &thread)?;
        let modes =
            Modes::read(&self.stream_mode).map_err(|error| Failure::unprocessable(error.to_string()))?;
        let leaves = match self.on_disconnect.as_deref() {
            None | Some("cancel") => true,
            Some("continue") => false,
            Some(_) => return Err(Failure::unprocessable("on_disconnect must be cancel or continue")),
        };
        let must_exist = match self.if_not_exists.as_deref() {
            None | Some("create") => false,
            Some("reject") => true,
            Some(_) => return Err(Failure::unprocessable("if_not_exists must be create or reject")),
        };
        let input = said(self.input, self.command)?;
        let mut metadata = self.metadata.unwrap_or_default();
        if metadata.contains_key("auth_token") {
            return Err(Failure::unprocessable(
                "metadata.auth_token is no place for a credential; show it as Authorization",
            ));
        }
        metadata.retain(|name, _| !OURS.contains(&name.as_str()));
        let strategy = strategy(self.multitask_strategy.as_deref())?;
        let base = base(self.checkpoint_id.as_deref(), self.checkpoint.as_ref())?;
        let kwargs = kwargs(&settled, &config, &self.stream_mode, leaves, base.as_ref());
        let wanted = Wanted {
            operation: Operation::Run,
            thread: ThreadKey { user: who.user.clone(), thread },
            must_exist,
            assistant,
            input,
            options: settled.options(),
            metadata,
            kwargs,
            strategy,
            scope: who.scope.clone(),
            base,
            secrets: settled.secrets,
            key,
        };
        fits(&wanted)?;
        Ok(Asked { wanted, modes, leaves })
    }

    /// Refuses what the reference has a field for and does not do.
    fn nothing_else(&self) -> Result<(), Failure> {
        let nothing = [
            ("webhook", &self.webhook),
            ("on_completion", &self.on_completion),
            ("after_seconds", &self.after_seconds),
            ("feedback_keys", &self.feedback_keys),
        ];
        if let Some((name, _)) = nothing.into_iter().find(|(_, value)| !value.is_null()) {
            return Err(Failure::unprocessable(format!("{name} is not supported; leave it out")));
        }
        let empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if !empty(&self.interrupt_before) || !empty(&self.interrupt_after) {
            let detail =
                "interrupt_before and interrupt_after are not supported: runs stop where their agent asks";
            return Err(Failure::unprocessable(detail));
        }
        Ok(())
    }
}

/// What is said to the run: its input, or the answer that resumes a conversation.
fn said(
    input: Option<Map<String, Value>>,
    command: Option<Map<String, Value>>,
) -> Result<Vec<Message>, Failure> {
    let unfit = |detail: &str| Failure::unprocessable(detail.to_owned());
    match (input, command) {
        (Some(_), Some(_)) => Err(unfit("a run has an input or a command, not both")),
        (Some(mut input), None) => {
            let messages = input.remove("messages").unwrap_or_default();
            if !input.is_empty() {
                return Err(unfit("input takes messages only; the state's API writes the other channels"));
            }
            said::messages(&messages).map_err(|error| Failure::unprocessable(format!("input.{error}")))
        }
        (None, Some(mut command)) => {
            let answer = command.remove("resume").filter(|answer| !answer.is_null());
            let answer = answer.filter(|_| command.values().all(Value::is_null));
            let answer = answer.ok_or_else(|| unfit("command takes resume only"))?;
            let text = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
            Ok(vec![Message::new(Speaker::Human, "", text)])
        }
        (None, None) => Ok(Vec::new()),
    }
}

fn strategy(name: Option<&str>) -> Result<Strategy, Failure> {
    match name {
        None | Some("reject") => Ok(Strategy::Reject),
        Some("interrupt") => Ok(Strategy::Interrupt),
        Some("rollback") => Ok(Strategy::Rollback),
        Some("enqueue") => Ok(Strategy::Enqueue),
        Some(_) => {
            Err(Failure::unprocessable("multitask_strategy must be reject, interrupt, rollback or enqueue"))
        }
    }
}

/// The checkpoint that is named, by either field.
pub(crate) fn base(
    id: Option<&str>,
    checkpoint: Option<&Map<String, Value>>,
) -> Result<Option<Head>, Failure> {
    let inner = checkpoint.and_then(|checkpoint| checkpoint.get("checkpoint_id")).and_then(Value::as_str);
    let wrong = || Failure::unprocessable("checkpoint_id is no checkpoint's id");
    id.or(inner).map(|id| Head::parse(id).ok_or_else(wrong)).transpose()
}

/// What is shown again of the request, beside the input.
fn kwargs(
    settled: &Configured,
    config: &Value,
    modes: &Value,
    leaves: bool,
    base: Option<&Head>,
) -> Map<String, Value> {
    let mut shown = Map::new();
    let mut options = Map::from_iter([
        ("configurable".to_owned(), Value::Object(settled.configurable.clone())),
        ("recursion_limit".to_owned(), settled.recursion_limit.into()),
    ]);
    if let Some(tags) = config.get("tags").filter(|tags| tags.is_array()) {
        options.insert("tags".to_owned(), tags.clone());
    }
    shown.insert("config".to_owned(), Value::Object(options));
    if let Some(context) = &settled.context {
        shown.insert("context".to_owned(), Value::Object(context.clone()));
    }
    let modes = if modes.is_null() { Value::from("values") } else { modes.clone() };
    shown.insert("stream_mode".to_owned(), modes);
    shown.insert("on_disconnect".to_owned(), if leaves { "cancel" } else { "continue" }.into());
    if let Some(base) = base {
        shown.insert("checkpoint_id".to_owned(), base.id().into());
    }
    shown
}

/// Whether its row takes it.
fn fits(wanted: &Wanted) -> Result<(), Failure> {
    let parts = BTreeMap::from([
        ("input", serde_json::to_string(&wanted.input).unwrap_or_default().len()),
        ("options", serde_json::to_string(&wanted.options).unwrap_or_default().len()),
        ("kwargs", serde_json::to_string(&wanted.kwargs).unwrap_or_default().len()),
        ("metadata", serde_json::to_string(&wanted.metadata).unwrap_or_default().len()),
    ]);
    if parts.values().sum::<usize>() <= MAX_BYTES {
        return Ok(());
    }
    let detail =
        format!("a run takes at most {MAX_BYTES} bytes of messages and options; put files elsewhere");
    Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, detail))
}

#[cfg(test)]
mod tests;
