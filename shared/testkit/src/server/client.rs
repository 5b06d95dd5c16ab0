//! The fake server as an MCP server with an ordinary toolset, on the level of results (reference 6.10): so that the real
//! ordinary driver can be run in a simulation.

use std::time::Duration;

use async_trait::async_trait;
use pudu_app::ports::{CallError, CallFault, Caller, Listing, McpClient, RawTool, ToolCall};
use pudu_config::Server;
use pudu_domain::{Snapshot, Status};
use serde_json::{Value, json};

use super::{Failure, FakeServer};
use crate::fixture::{CANCEL_TOOL, STATUS_TOOL, SUBMIT_TOOL};

/// A client whose every server is the fake one. Tools: `echo` and the toolset of [`crate::fixture::server`].
#[derive(Clone)]
pub struct FakeClient(FakeServer);

impl FakeServer {
    /// A client that speaks to it.
    pub fn client(&self) -> FakeClient {
        FakeClient(self.clone())
    }
}

fn structured(content: Value) -> Value {
    let mut result = json!({"content": []});
    if let Some(result) = result.as_object_mut() {
        result.insert("structuredContent".into(), content);
    }
    result
}

fn failed(text: &str) -> Value {
    json!({"isError": true, "content": [{"type": "text", "text": text}]})
}

/// The answer of the status or the cancel tool.
fn told(handle: &str, answer: Result<Snapshot, Failure>) -> Value {
    let snapshot = match answer {
        Ok(snapshot) => snapshot,
        Err(Failure::Error(text)) => return failed(&text),
        Err(Failure::Nonsense(_)) => {
            return structured(json!({"task_id": format!("not-{handle}"), "status": "running"}));
        }
        Err(Failure::NotFound) => {
            let error = "task not found";
            return structured(
                json!({"task_id": handle, "status": "failed", "error": error, "error_code": "task_not_found"}),
            );
        }
    };
    let status = match snapshot.status {
        Status::Submitted | Status::Working => "running",
        ended => ended.as_str(),
    };
    let fields = [
        ("task_id", Some(json!(handle))),
        ("status", Some(json!(status))),
        ("result", snapshot.result),
        ("error", snapshot.error.map(Value::from)),
        ("input_required", snapshot.input_required),
        ("poll_after_seconds", snapshot.poll_after.map(|after| json!(after.as_secs_f64()))),
    ];
    structured(fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
}

fn tool(name: &str, required: &str) -> RawTool {
    let schema =
        json!({"type": "object", "required": [required], "properties": {required: {"type": "string"}}});
    RawTool { name: name.into(), definition: json!({"name": name, "inputSchema": schema}) }
}

#[async_trait]
impl McpClient for FakeClient {
    async fn list_tools(&self, _server: &Server, _limit: Duration) -> Result<Listing, CallError> {
        let free = json!({"name": SUBMIT_TOOL, "inputSchema": {"type": "object"}});
        let submit = RawTool { name: SUBMIT_TOOL.into(), definition: free };
        let tools =
            vec![tool("echo", "text"), submit, tool(STATUS_TOOL, "task_id"), tool(CANCEL_TOOL, "task_id")];
        Ok(Listing { tools, ttl: None })
    }

    async fn call_tool(
        &self,
        server: &Server,
        _caller: &Caller,
        call: ToolCall,
        _limit: Duration,
    ) -> Result<Value, CallError> {
        let ToolCall { tool, arguments, .. } = call;
        let handle = arguments.get("task_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        match tool.as_str() {
            "echo" => {
                Ok(json!({"content": [{"type": "text", "text": Value::Object(arguments).to_string()}]}))
            }
            SUBMIT_TOOL => Ok(match self.0.submit(arguments) {
                Ok((handle, _)) => structured(json!({"task_id": handle, "status": "running"})),
                Err(Failure::Error(text) | Failure::Nonsense(text)) => failed(&text),
                Err(Failure::NotFound) => failed("not found"),
            }),
            STATUS_TOOL => Ok(told(&handle, self.0.status(&handle))),
            CANCEL_TOOL => Ok(told(&handle, self.0.cancel(&handle))),
            other => Err(CallError {
                server: server.name.clone(),
                fault: CallFault::Refused,
                message: format!("unknown tool '{other}'"),
            }),
        }
    }
}
