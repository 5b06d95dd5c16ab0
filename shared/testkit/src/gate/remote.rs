//! The ports to other people's servers behind a gate. A submission whose answer is lost is one whose outcome is unknown.
//! The time limit of a call is kept here, as an adapter keeps it: a call that is held up too long has timed out.

use std::time::Duration;

use async_trait::async_trait;
use pudu_app::ports::{
    AnswerError, CallError, CallFault, Caller, Cancelled, DriverError, Listing, McpClient, ModelCall,
    ModelError, ModelFault, Models, Piece, SubmitError, Submits, Submitted, TaskDriver, TaskReply,
    TaskRequest, ToolCall, Unanswerable,
};
use pudu_config::Server;
use pudu_domain::chat::Message;
use pudu_domain::{RemoteTaskId, Snapshot};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::{Broken, Gated};

/// The answer of a call, or what a client says of a call without one.
fn at_the_server<T>(
    server: &Server,
    call: Result<Result<Result<T, CallError>, Broken>, Elapsed>,
) -> Result<T, CallError> {
    let (fault, message) = match call {
        Ok(Ok(answer)) => return answer,
        Ok(Err(Broken::NotSent)) => (CallFault::NotSent, Broken::NotSent.to_string()),
        Ok(Err(Broken::AnswerLost)) => (CallFault::Broken, Broken::AnswerLost.to_string()),
        Err(late) => (CallFault::Timeout, late.to_string()),
    };
    Err(CallError { server: server.name.clone(), fault, message })
}

#[async_trait]
impl TaskDriver for Gated<dyn TaskDriver> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn data(&self, by: Submits<'_>) -> Value {
        self.inner.data(by)
    }

    async fn submit(
        &self,
        server: &Server,
        caller: &Caller,
        data: &Value,
        arguments: Map<String, Value>,
        limit: Duration,
    ) -> Result<Submitted, SubmitError> {
        let call = self.gate.call("driver.submit", self.inner.submit(server, caller, data, arguments, limit));
        match timeout(limit, call).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(Broken::NotSent)) => Err(SubmitError::Refused(Broken::NotSent.to_string())),
            Ok(Err(Broken::AnswerLost)) => Err(SubmitError::Unknown(Broken::AnswerLost.to_string())),
            Err(late) => Err(SubmitError::Unknown(late.to_string())),
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
        let call = self.gate.call("driver.status", self.inner.status(server, caller, data, remote, limit));
        match timeout(limit, call).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(broken)) => Err(DriverError::Retry(broken.to_string())),
            Err(late) => Err(DriverError::Retry(late.to_string())),
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
        let call = self.gate.call("driver.cancel", self.inner.cancel(server, caller, data, handle, limit));
        match timeout(limit, call).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(broken)) => Err(DriverError::Retry(broken.to_string())),
            Err(late) => Err(DriverError::Retry(late.to_string())),
        }
    }

    fn question(&self, data: &Value, asked: &Value) -> Result<Value, Unanswerable> {
        self.inner.question(data, asked)
    }

    async fn answer(
        &self,
        server: &Server,
        caller: &Caller,
        data: &Value,
        remote: &RemoteTaskId,
        asked: &Value,
        answer: &Value,
        limit: Duration,
    ) -> Result<(), AnswerError> {
        let call = self.inner.answer(server, caller, data, remote, asked, answer, limit);
        match timeout(limit, self.gate.call("driver.answer", call)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(broken)) => Err(AnswerError::Retry(broken.to_string())),
            Err(late) => Err(AnswerError::Retry(late.to_string())),
        }
    }
}

#[async_trait]
impl McpClient for Gated<dyn McpClient> {
    async fn list_tools(&self, server: &Server, limit: Duration) -> Result<Listing, CallError> {
        let call = self.gate.call("mcp.list_tools", self.inner.list_tools(server, limit));
        at_the_server(server, timeout(limit, call).await)
    }

    async fn call_tool(
        &self,
        server: &Server,
        caller: &Caller,
        call: ToolCall,
        limit: Duration,
    ) -> Result<Value, CallError> {
        let call = self.gate.call("mcp.call_tool", self.inner.call_tool(server, caller, call, limit));
        at_the_server(server, timeout(limit, call).await)
    }

    async fn ask_task(
        &self,
        server: &Server,
        caller: &Caller,
        request: TaskRequest,
        limit: Duration,
    ) -> Result<TaskReply, CallError> {
        let call = self.gate.call("mcp.ask_task", self.inner.ask_task(server, caller, request, limit));
        at_the_server(server, timeout(limit, call).await)
    }
}

#[async_trait]
impl Models for Gated<dyn Models> {
    async fn call(&self, call: &ModelCall, pieces: mpsc::Sender<Piece>) -> Result<Message, ModelError> {
        let answer = self.gate.call("models.call", self.inner.call(call, pieces)).await;
        answer.unwrap_or_else(|broken| {
            let (model, message) = (call.entry.name.clone(), broken.to_string());
            Err(ModelError { model, fault: ModelFault::Transient, message, retry_after: None })
        })
    }
}
