//! A driver without a server: every task is always at work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use pudu_app::drivers::ORDINARY_TOOLS;
use pudu_app::ports::{
    AnswerError, Caller, Cancelled, DriverError, SubmitError, Submits, Submitted, TaskDriver, Unanswerable,
};
use pudu_config::Server;
use pudu_domain::{RemoteTaskId, Snapshot, Status};
use serde_json::{Map, Value};

/// Answers at once; stands in the place of the ordinary driver.
pub(crate) struct Still {
    /// When it wants to be asked again.
    pub(crate) poll_after: Duration,
    /// How often it was asked.
    pub(crate) asked: Arc<AtomicU64>,
}

#[async_trait]
impl TaskDriver for Still {
    fn name(&self) -> &'static str {
        ORDINARY_TOOLS
    }

    fn data(&self, _by: Submits<'_>) -> Value {
        Value::Null
    }

    async fn submit(
        &self,
        _server: &Server,
        _caller: &Caller,
        _data: &Value,
        _arguments: Map<String, Value>,
        _limit: Duration,
    ) -> Result<Submitted, SubmitError> {
        Err(SubmitError::Refused("nothing is submitted in this bench".to_owned()))
    }

    async fn status(
        &self,
        _server: &Server,
        _caller: &Caller,
        _data: &Value,
        _remote: &RemoteTaskId,
        _limit: Duration,
    ) -> Result<Snapshot, DriverError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(Snapshot { poll_after: Some(self.poll_after), ..Snapshot::bare(Status::Working) })
    }

    async fn cancel(
        &self,
        _server: &Server,
        _caller: &Caller,
        _data: &Value,
        _handle: &str,
        _limit: Duration,
    ) -> Result<Cancelled, DriverError> {
        Ok(Cancelled::Acknowledged)
    }

    fn question(&self, _data: &Value, _asked: &Value) -> Result<Value, Unanswerable> {
        Err(Unanswerable("nothing is asked in this bench".to_owned()))
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
        Err(AnswerError::Refused("nothing is asked in this bench".to_owned()))
    }
}
