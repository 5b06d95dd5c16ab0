//! The driver for the tasks extension of 2026-07-28 (`io.modelcontextprotocol/tasks`): any call may be answered with a task, which
//! is then asked for with `tasks/get`, answered with `tasks/update` and ended with `tasks/cancel`.
//!
//! The mapping from answers to snapshots is pure and lives in [`created`], [`state`] and [`question`]; this file calls. What
//! travels is raw JSON. An answer against the protocol ends the task on a poll; everything else is asked again.

mod created;
mod question;
mod state;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pudu_app::drivers::MCP_TASKS;
use pudu_app::ports::{
    AnswerError, CallError, Caller, Cancelled, DriverError, Judged, McpClient, SubmitError, Submits,
    Submitted, TaskDriver, TaskMethod, TaskProtocol, TaskReply, TaskRequest, ToolCall, Unanswerable,
};
use pudu_config::Server;
use pudu_domain::{RemoteTaskId, Snapshot, Status};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::redact::Redacts;
use crate::told;

/// Speaks the tasks extension. Its data in a task is the raw name of the tool.
pub struct McpTasks {
    client: Arc<dyn McpClient>,
    redacts: Arc<dyn Redacts>,
}

/// Which task of whom is asked about.
struct Asking<'a> {
    server: &'a Server,
    caller: &'a Caller,
    data: &'a Value,
    handle: &'a str,
    limit: Duration,
}

impl McpTasks {
    /// A driver that calls through `client`, whose texts show nothing that `redacts` knows.
    pub fn new(client: Arc<dyn McpClient>, redacts: Arc<dyn Redacts>) -> Self {
        Self { client, redacts }
    }

    async fn ask(
        &self,
        asking: Asking<'_>,
        method: TaskMethod,
        more: Map<String, Value>,
    ) -> Result<TaskReply, CallError> {
        let Asking { server, caller, data, handle, limit } = asking;
        let mut params = more;
        params.insert("taskId".to_owned(), json!(handle));
        let tool = told::tool(data).unwrap_or_default().to_owned();
        self.client.ask_task(server, caller, TaskRequest { method, params, tool }, limit).await
    }
}

#[async_trait]
impl TaskDriver for McpTasks {
    fn name(&self) -> &'static str {
        MCP_TASKS
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
        let tool = told::tool(data).map_err(SubmitError::Refused)?;
        let call = ToolCall { tasks: Some(TaskProtocol::Extension), ..ToolCall::plain(tool, arguments) };
        match self.client.call_tool_judged(server, caller, call, limit).await {
            Ok(Judged { result, .. }) if created::is_task(&result) => {
                created::read(&result).map(Submitted::Task)
            }
            Ok(Judged { result, broken: None }) => Ok(Submitted::Answered(result)),
            Ok(Judged { broken: Some(error), .. }) => Err(SubmitError::Call(error)),
            Err(error) => Err(told::unsent(error)),
        }
    }

    async fn status(
        &self,
        server: &Server,
        caller: &Caller,
        data: &Value,
        remote: &RemoteTaskId,
        limit: Duration,
    ) -> Result<Snapshot, DriverError> {
        let began = Instant::now();
        let handle = remote.as_str();
        let asking = Asking { server, caller, data, handle, limit };
        let said = match self.ask(asking, TaskMethod::Get, Map::new()).await {
            Ok(TaskReply::Said(said)) => said,
            Ok(TaskReply::Error { code, .. }) if told::is_no_such_task(code) => return Ok(told::not_found()),
            Ok(TaskReply::Error { error, .. }) | Err(error) => return Err(told::again(&error)),
        };
        let redactor = self.redacts.redactor(server, caller);
        let snapshot = state::read(&said, handle, &redactor).map_err(DriverError::Violation)?;
        if let (Status::Completed, Some(result), Ok(tool)) =
            (snapshot.status, &snapshot.result, told::tool(data))
        {
            let left = limit.saturating_sub(began.elapsed());
            if let Some(broken) = self.client.judge_result(server, tool, result, left).await {
                return Err(told::unusable(&broken));
            }
        }
        Ok(snapshot)
    }

    async fn cancel(
        &self,
        server: &Server,
        caller: &Caller,
        data: &Value,
        handle: &str,
        limit: Duration,
    ) -> Result<Cancelled, DriverError> {
        let asking = Asking { server, caller, data, handle, limit };
        match self.ask(asking, TaskMethod::Cancel, Map::new()).await {
            // Whatever it says beside that is no end, nor is a task that it does not have: both are seen by asking for it.
            Ok(TaskReply::Said(_)) => Ok(Cancelled::Acknowledged),
            Ok(TaskReply::Error { code, .. }) if told::is_no_such_task(code) => Ok(Cancelled::Acknowledged),
            Ok(TaskReply::Error { error, .. }) | Err(error) => Err(told::again(&error)),
        }
    }

    fn question(&self, _data: &Value, asked: &Value) -> Result<Value, Unanswerable> {
        question::schema(asked)
    }

    async fn answer(
        &self,
        server: &Server,
        caller: &Caller,
        data: &Value,
        remote: &RemoteTaskId,
        _asked: &Value,
        answer: &Value,
        limit: Duration,
    ) -> Result<(), AnswerError> {
        let asking = Asking { server, caller, data, handle: remote.as_str(), limit };
        let more = Map::from_iter([("inputResponses".to_owned(), answer.clone())]);
        match self.ask(asking, TaskMethod::Update, more).await {
            Ok(TaskReply::Said(_)) => Ok(()),
            // The parameters are what it does not take; any other error may pass.
            Ok(TaskReply::Error { code, error }) if told::is_no_such_task(code) => {
                Err(AnswerError::Refused(error.to_string()))
            }
            Ok(TaskReply::Error { error, .. }) | Err(error) => Err(AnswerError::Retry(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests;
