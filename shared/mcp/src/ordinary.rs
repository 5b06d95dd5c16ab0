//! The driver for ordinary toolsets: tools of a server that together are a durable task (reference 6.10).
//!
//! Only `structuredContent` is read; text is never parsed. The mapping from answers to snapshots is pure and lives in
//! [`submit`], [`status`], [`cancel`] and [`input`]; this file calls, and turns failed calls into the driver's errors.

mod answer;
mod cancel;
mod data;
mod input;
mod status;
mod submit;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pudu_app::drivers::ORDINARY_TOOLS;
use pudu_app::ports::{
    AnswerError, CallError, CallFault, Caller, Cancelled, DriverError, Judged, McpClient, SubmitError,
    Submits, Submitted, TaskDriver, ToolCall, Unanswerable,
};
use pudu_config::Server;
use pudu_domain::{RemoteTaskId, Snapshot};
use serde_json::{Map, Value};

use crate::redact::{Redactor, Redacts};
use data::DriverData;

/// Speaks with ordinary toolsets. Its data in a task is the raw names of the tools.
pub struct OrdinaryTools {
    client: Arc<dyn McpClient>,
    redacts: Arc<dyn Redacts>,
}

impl OrdinaryTools {
    /// A driver that calls through `client`, whose texts show nothing that `redacts` knows.
    pub fn new(client: Arc<dyn McpClient>, redacts: Arc<dyn Redacts>) -> Self {
        Self { client, redacts }
    }

    async fn ask(
        &self,
        server: &Server,
        caller: &Caller,
        tool: &str,
        handle: &str,
        limit: Duration,
    ) -> Result<Value, CallError> {
        self.client.call_tool(server, caller, asked(tool, about(handle)), limit).await
    }

    fn redactor(&self, server: &Server, caller: &Caller) -> Redactor {
        self.redacts.redactor(server, caller)
    }
}

#[async_trait]
impl TaskDriver for OrdinaryTools {
    fn name(&self) -> &'static str {
        ORDINARY_TOOLS
    }

    fn data(&self, by: Submits<'_>) -> Value {
        match by {
            Submits::Toolset(set) => DriverData::of(set).to_value(),
            // A tool alone has nobody to ask for a status: reading this back says what is missing.
            Submits::Tool(_) => Value::Null,
        }
    }

    async fn submit(
        &self,
        server: &Server,
        caller: &Caller,
        data: &Value,
        arguments: Map<String, Value>,
        limit: Duration,
    ) -> Result<Submitted, SubmitError> {
        let tools = DriverData::read(data).map_err(SubmitError::Refused)?;
        match self.client.call_tool_judged(server, caller, asked(&tools.submit, arguments), limit).await {
            Ok(Judged { result, broken: Some(error) }) => {
                Err(SubmitError::Violation { handle: submit::handle(&result), message: error.to_string() })
            }
            Ok(Judged { result, broken: None }) => {
                submit::read(&tools.submit, &result, &self.redactor(server, caller)).map(Submitted::Task)
            }
            Err(error) => Err(unsent(error)),
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
        let tools = DriverData::read(data).map_err(DriverError::Violation)?;
        match self.ask(server, caller, &tools.status, remote.as_str(), limit).await {
            Ok(result) => {
                status::read(&tools.status, &result, remote.as_str(), &self.redactor(server, caller))
            }
            Err(error) => Err(unanswered(&error)),
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
        let tools = DriverData::read(data).map_err(DriverError::Violation)?;
        match self.ask(server, caller, &tools.cancel, handle, limit).await {
            Ok(result) => cancel::read(&tools.cancel, &result, handle, &self.redactor(server, caller))
                .map(Cancelled::Snapshot),
            Err(error) => Err(unanswered(&error)),
        }
    }

    fn question(&self, data: &Value, asked: &Value) -> Result<Value, Unanswerable> {
        input::tool(data).map_err(Unanswerable)?;
        Ok(input::schema(asked))
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
        let tool = input::tool(data).map_err(AnswerError::Refused)?;
        let mut arguments = about(remote.as_str());
        arguments.insert("input".to_owned(), answer.clone());
        match self.client.call_tool(server, caller, asked(&tool, arguments), limit).await {
            Ok(result) => input::read(&tool, &result, remote.as_str(), &self.redactor(server, caller)),
            Err(error) => Err(untaken(&error)),
        }
    }
}

/// A submission whose call failed: only a call that certainly did nothing counts as refused.
fn unsent(error: CallError) -> SubmitError {
    match error.fault {
        CallFault::NotSent | CallFault::Refused | CallFault::Config => {
            SubmitError::Refused(error.to_string())
        }
        CallFault::Denied => SubmitError::Denied(error),
        CallFault::Timeout | CallFault::Broken | CallFault::Protocol | CallFault::Violation => {
            SubmitError::Unknown(error.to_string())
        }
    }
}

/// A status or cancel call that failed: worth another try, unless the answer itself was wrong.
fn unanswered(error: &CallError) -> DriverError {
    match error.fault {
        CallFault::Violation => DriverError::Violation(error.to_string()),
        _ => DriverError::Retry(error.to_string()),
    }
}

/// An answer whose call failed: only a call that the server refused as such certainly was not taken, and never will be.
fn untaken(error: &CallError) -> AnswerError {
    match error.fault {
        CallFault::Refused => AnswerError::Refused(error.to_string()),
        _ => AnswerError::Retry(error.to_string()),
    }
}

/// The arguments of a call about a task.
fn about(handle: &str) -> Map<String, Value> {
    Map::from_iter([("task_id".to_owned(), Value::String(handle.to_owned()))])
}

fn asked(tool: &str, arguments: Map<String, Value>) -> ToolCall {
    ToolCall::plain(tool, arguments)
}

#[cfg(test)]
mod tests;
