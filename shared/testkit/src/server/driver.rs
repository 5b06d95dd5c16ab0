//! The fake server as a task driver.

use std::time::Duration;

use async_trait::async_trait;
use pudu_app::drivers::ORDINARY_TOOLS;
use pudu_app::ports::{
    AnswerError, Caller, Cancelled, DriverError, Submission, SubmitError, Submits, Submitted, TaskDriver,
    Unanswerable,
};
use pudu_config::Server;
use pudu_domain::{RemoteTaskId, Snapshot, Status};
use serde_json::{Map, Value, json};

use super::{Failure, FakeServer};

/// A driver that speaks to the fake server without a wire; it stands in for the one of ordinary toolsets.
#[derive(Clone)]
pub struct FakeDriver(FakeServer);

impl FakeServer {
    /// A driver that speaks to it.
    pub fn driver(&self) -> FakeDriver {
        FakeDriver(self.clone())
    }
}

fn answer(answer: Result<Snapshot, Failure>) -> Result<Snapshot, DriverError> {
    match answer {
        Ok(snapshot) => Ok(snapshot),
        Err(Failure::Error(text)) => Err(DriverError::Retry(text)),
        Err(Failure::Nonsense(text)) => Err(DriverError::Violation(text)),
        // As the ordinary driver maps `task_not_found` (reference 6.10).
        Err(Failure::NotFound) => {
            Ok(Snapshot { error: Some("task not found".into()), ..Snapshot::bare(Status::Failed) })
        }
    }
}

#[async_trait]
impl TaskDriver for FakeDriver {
    fn name(&self) -> &'static str {
        ORDINARY_TOOLS
    }

    fn data(&self, by: Submits<'_>) -> Value {
        match by {
            Submits::Toolset(set) => {
                json!({"submit_tool": set.submit_tool, "status_tool": set.status_tool, "cancel_tool": set.cancel_tool})
            }
            Submits::Tool(tool) => json!({"tool": tool}),
        }
    }

    async fn submit(
        &self,
        _server: &Server,
        _caller: &Caller,
        _data: &Value,
        arguments: Map<String, Value>,
        _limit: Duration,
    ) -> Result<Submitted, SubmitError> {
        match self.0.submit(arguments) {
            Ok((handle, snapshot)) => match RemoteTaskId::parse(handle.clone()) {
                Ok(remote) => Ok(Submitted::Task(Submission { remote, snapshot })),
                Err(error) => {
                    Err(SubmitError::Violation { handle: Some(handle), message: error.to_string() })
                }
            },
            Err(Failure::Error(text) | Failure::Nonsense(text)) => Err(SubmitError::Refused(text)),
            Err(Failure::NotFound) => Err(SubmitError::Refused("not found".into())),
        }
    }

    async fn status(
        &self,
        _server: &Server,
        _caller: &Caller,
        _data: &Value,
        remote: &RemoteTaskId,
        _limit: Duration,
    ) -> Result<Snapshot, DriverError> {
        answer(self.0.status(remote.as_str()))
    }

    async fn cancel(
        &self,
        _server: &Server,
        _caller: &Caller,
        _data: &Value,
        handle: &str,
        _limit: Duration,
    ) -> Result<Cancelled, DriverError> {
        answer(self.0.cancel(handle)).map(Cancelled::Snapshot)
    }

    fn question(&self, _data: &Value, asked: &Value) -> Result<Value, Unanswerable> {
        let none = || Unanswerable("this question cannot be answered".to_owned());
        asked.get("schema").cloned().ok_or_else(none)
    }

    async fn answer(
        &self,
        _server: &Server,
        _caller: &Caller,
        _data: &Value,
        remote: &RemoteTaskId,
        _asked: &Value,
        answer: &Value,
        _limit: Duration,
    ) -> Result<(), AnswerError> {
        match self.0.answer(remote.as_str(), answer) {
            Ok(_) => Ok(()),
            Err(Failure::Error(text)) => Err(AnswerError::Retry(text)),
            Err(Failure::Nonsense(text)) => Err(AnswerError::Refused(text)),
            Err(Failure::NotFound) => Err(AnswerError::Refused("task not found".into())),
        }
    }
}
