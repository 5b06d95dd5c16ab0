//! How a long-running task is spoken about with its server. One trait; nothing else knows which protocol it is.

use std::time::Duration;

use async_trait::async_trait;
use pudu_config::{Server, Toolset};
use pudu_domain::{RemoteTaskId, Snapshot};
use serde_json::{Map, Value};

use super::{CallError, Caller};

/// A submission that the server took.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// The server's handle.
    pub remote: RemoteTaskId,
    /// What it said.
    pub snapshot: Snapshot,
}

/// What a task is submitted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submits<'a> {
    /// The submit tool of a toolset.
    Toolset(&'a Toolset),
    /// Any tool, by its server's own name: its server decides whether the call becomes a task.
    Tool(&'a str),
}

/// What a submission came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Submitted {
    /// A task at the server.
    Task(Submission),
    /// The server answered at once with the result object: there is no task.
    Answered(Value),
}

/// What a server said to a cancel.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one per call, moved once; a box would only cost its readers"
)]
pub enum Cancelled {
    /// How the task stands now; only an end counts.
    Snapshot(Snapshot),
    /// That it has heard: the task's end is seen by polling.
    Acknowledged,
}

/// A question that cannot be answered through us, as a sentence for the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unanswerable(pub String);

/// An answer to a question that did not certainly arrive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The server certainly did not take it and never will: another one is needed.
    #[error("{0}")]
    Refused(String),
    /// It was not sent, or nobody knows whether it was taken.
    #[error("{0}")]
    Retry(String),
}

/// A submission that came to nothing we can track.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The server refused, or was never reached: nothing runs there.
    #[error("{0}")]
    Refused(String),
    /// The call ended, and there is no task and no usable result: it was refused, or its result is not what the tool declares.
    #[error(transparent)]
    Call(CallError),
    /// A credential is missing ([`CallFault::Denied`](super::CallFault::Denied)): nothing was sent.
    #[error(transparent)]
    Denied(CallError),
    /// The server may have started something; nobody knows its handle.
    #[error("{0}")]
    Unknown(String),
    /// The server started something and answered against the protocol, or what its tool does not declare; `handle` is what it
    /// may be cancelled by.
    #[error("{message}")]
    Violation {
        /// The handle as the server gave it, even one too long to track.
        handle: Option<String>,
        /// What was wrong.
        message: String,
    },
}

/// A status or cancel call that brought no snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// Try again later.
    #[error("{0}")]
    Retry(String),
    /// The answer broke the protocol: on a poll the task has failed.
    #[error("{0}")]
    Violation(String),
}

/// A protocol for durable tasks. Each act is made for the task's owner (`caller`). Texts of errors are redacted and bounded by the driver.
#[async_trait]
pub trait TaskDriver: Send + Sync {
    /// The name under which tasks remember their driver.
    fn name(&self) -> &'static str;

    /// What a task that is submitted by `by` must remember for this driver.
    fn data(&self, by: Submits<'_>) -> Value;

    /// Starts a task; sent at most once.
    async fn submit(
        &self,
        server: &Server,
        caller: &Caller,
        data: &Value,
        arguments: Map<String, Value>,
        limit: Duration,
    ) -> Result<Submitted, SubmitError>;

    /// Asks how a task is.
    async fn status(
        &self,
        server: &Server,
        caller: &Caller,
        data: &Value,
        remote: &RemoteTaskId,
        limit: Duration,
    ) -> Result<Snapshot, DriverError>;

    /// Asks for a task to be cancelled. The handle is raw text, so that a submission whose handle cannot be tracked can
    /// still be undone.
    async fn cancel(
        &self,
        server: &Server,
        caller: &Caller,
        data: &Value,
        handle: &str,
        limit: Duration,
    ) -> Result<Cancelled, DriverError>;

    /// The JSON Schema of an answer to the question `asked` (a task's `input_required`), or why there can be none.
    fn question(&self, data: &Value, asked: &Value) -> Result<Value, Unanswerable>;

    /// Hands the server an answer that fits [`question`](Self::question).
    #[expect(
        clippy::too_many_arguments,
        reason = "whose task, which question, which answer: none can be left out"
    )]
    async fn answer(
        &self,
        server: &Server,
        caller: &Caller,
        data: &Value,
        remote: &RemoteTaskId,
        asked: &Value,
        answer: &Value,
        limit: Duration,
    ) -> Result<(), AnswerError>;
}
