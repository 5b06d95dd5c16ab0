//! The driver for the core tasks of 2025-11-25: the caller asks for a task with its call, asks how it is with `tasks/get`, fetches
//! what it brought with `tasks/result` and ends it with `tasks/cancel`.
//!
//! A session over HTTP ends with its call, as every session of ours over HTTP does. The specification lets tasks outlive it, and
//! some servers forget them all the same (the official example server does, measured): so a new task is asked for once in a second
//! session before it counts. On stdio the session of a thread stays, and tasks with it.

mod created;
mod state;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pudu_app::drivers::CORE_TASKS;
use pudu_app::ports::{
    AnswerError, CallError, Caller, Cancelled, DriverError, Judged, McpClient, Submission, SubmitError,
    Submits, Submitted, TaskDriver, TaskMethod, TaskProtocol, TaskReply, TaskRequest, ToolCall, Unanswerable,
};
use pudu_config::{Server, Transport};
use pudu_domain::{RemoteTaskId, Snapshot, Status};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::redact::Redacts;
use crate::told;

/// What a question of such a task says to whoever would answer it.
const UNANSWERABLE: &str = "a task of MCP 2025-11-25 takes an answer only on an open stream of its result, which nobody holds here; \
                            it goes on by itself or can be cancelled";
/// What a server that forgets says.
const FORGOTTEN: &str = "the server forgets a task when the session that began it ends, and sessions over HTTP end with their call; \
                         run this server over stdio, or call the tool without a task";

/// Speaks core tasks. Its data in a task is the raw name of the tool.
pub struct CoreTasks {
    client: Arc<dyn McpClient>,
    redacts: Arc<dyn Redacts>,
}

/// Which task of whom is asked about, until when.
#[derive(Clone, Copy)]
struct Asking<'a> {
    server: &'a Server,
    caller: &'a Caller,
    tool: &'a str,
    handle: &'a str,
    until: Instant,
}

impl CoreTasks {
    /// A driver that calls through `client`, whose texts show nothing that `redacts` knows.
    pub fn new(client: Arc<dyn McpClient>, redacts: Arc<dyn Redacts>) -> Self {
        Self { client, redacts }
    }

    async fn ask(&self, asking: Asking<'_>, method: TaskMethod) -> Result<TaskReply, CallError> {
        let Asking { server, caller, tool, handle, until } = asking;
        let params = Map::from_iter([("taskId".to_owned(), json!(handle))]);
        let request = TaskRequest { method, params, tool: tool.to_owned() };
        self.client.ask_task(server, caller, request, until.duration_since(Instant::now())).await
    }

    /// Whether the task is still there now that the session that began it has ended. One that cannot be asked for is taken to be:
    /// the polls will see.
    async fn outlives_its_session(&self, asking: Asking<'_>) -> bool {
        if matches!(asking.server.transport, Transport::Stdio(_)) {
            return true;
        }
        let reply = self.ask(asking, TaskMethod::Get).await;
        !matches!(reply, Ok(TaskReply::Error { code, .. }) if told::is_no_such_task(code))
    }

    /// The end of a task, with what its call brought.
    async fn ended(&self, asking: Asking<'_>, status: Status) -> Result<Snapshot, DriverError> {
        let redactor = self.redacts.redactor(asking.server, asking.caller);
        match self.ask(asking, TaskMethod::Result).await {
            Ok(TaskReply::Said(result)) => {
                let left = asking.until.duration_since(Instant::now());
                let judged = self.client.judge_result(asking.server, asking.tool, &result, left);
                match judged.await {
                    Some(broken) if status == Status::Completed => Err(told::unusable(&broken)),
                    _ => Ok(state::ended(status, result, &redactor)),
                }
            }
            Ok(TaskReply::Error { code, .. }) if told::is_no_such_task(code) => Ok(told::not_found()),
            // What its call would have been answered with.
            Ok(TaskReply::Error { error, .. }) if status == Status::Failed => {
                Ok(Snapshot { error: Some(error.message), ..Snapshot::bare(Status::Failed) })
            }
            Ok(TaskReply::Error { error, .. }) | Err(error) => Err(told::again(&error)),
        }
    }
}

#[async_trait]
impl TaskDriver for CoreTasks {
    fn name(&self) -> &'static str {
        CORE_TASKS
    }

    fn data(&self, by: Submits<'_>) -> Value {
        told::data(by)
    }

    async fn submit(
        &self,
        server: &Server,
        caller: &Caller,
        data: &Value,
        arguments: Map<String, Value>,
        limit: Duration,
    ) -> Result<Submitted, SubmitError> {
        let until = Instant::now() + limit;
        let tool = told::tool(data).map_err(SubmitError::Refused)?;
        let call = ToolCall { tasks: Some(TaskProtocol::Core), ..ToolCall::plain(tool, arguments) };
        let Judged { result, broken } = match self.client.call_tool_judged(server, caller, call, limit).await
        {
            Ok(judged) => judged,
            Err(error) => return Err(told::unsent(error)),
        };
        let Some(task) = created::task(&result) else {
            return match broken {
                None => Ok(Submitted::Answered(result)),
                Some(error) => Err(SubmitError::Call(error)),
            };
        };
        let submission: Submission = created::read(task)?;
        let asking = Asking { server, caller, tool, handle: submission.remote.as_str(), until };
        if !self.outlives_its_session(asking).await {
            return Err(SubmitError::Unknown(FORGOTTEN.to_owned()));
        }
        Ok(Submitted::Task(submission))
    }

    async fn status(
        &self,
        server: &Server,
        caller: &Caller,
        data: &Value,
        remote: &RemoteTaskId,
        limit: Duration,
    ) -> Result<Snapshot, DriverError> {
        let until = Instant::now() + limit;
        let tool = told::tool(data).map_err(DriverError::Violation)?;
        let asking = Asking { server, caller, tool, handle: remote.as_str(), until };
        let snapshot = match self.ask(asking, TaskMethod::Get).await {
            Ok(TaskReply::Said(said)) => {
                state::read("tasks/get", &said, remote.as_str()).map_err(DriverError::Violation)?
            }
            Ok(TaskReply::Error { code, .. }) if told::is_no_such_task(code) => return Ok(told::not_found()),
            Ok(TaskReply::Error { error, .. }) | Err(error) => return Err(told::again(&error)),
        };
        match snapshot.status {
            status @ (Status::Completed | Status::Failed) => self.ended(asking, status).await,
            _ => Ok(snapshot),
        }
    }

    async fn cancel(
        &self,
        server: &Server,
        caller: &Caller,
        data: &Value,
        handle: &str,
        limit: Duration,
    ) -> Result<Cancelled, DriverError> {
        let until = Instant::now() + limit;
        let tool = told::tool(data).map_err(DriverError::Violation)?;
        match self.ask(Asking { server, caller, tool, handle, until }, TaskMethod::Cancel).await {
            Ok(TaskReply::Said(said)) => {
                let now = state::read("tasks/cancel", &said, handle).map_err(DriverError::Violation)?;
                // Only this end needs nothing that would have to be fetched.
                Ok(if now.status == Status::Cancelled {
                    Cancelled::Snapshot(now)
                } else {
                    Cancelled::Acknowledged
                })
            }
            // It has ended by itself, or is not known: the next poll sees which.
            Ok(TaskReply::Error { code, .. }) if told::is_no_such_task(code) => Ok(Cancelled::Acknowledged),
            Ok(TaskReply::Error { error, .. }) | Err(error) => Err(told::again(&error)),
        }
    }

    fn question(&self, _data: &Value, _asked: &Value) -> Result<Value, Unanswerable> {
        Err(Unanswerable(UNANSWERABLE.to_owned()))
    }

    async fn answer(
        &self,
        _server: &Server,
        _caller: &Caller,
        _data: &Value,
        _remote: &RemoteTaskId,
        _asked: &Value,
        _answer: &Value,
        _limit: Duration,
    ) -> Result<(), AnswerError> {
        Err(AnswerError::Refused(UNANSWERABLE.to_owned()))
    }
}

#[cfg(test)]
mod tests;
