//! The fake server as an MCP server, on the level of results, so that the real drivers can be run in a simulation: with an ordinary
//! toolset (reference 6.10), and if wanted with a tool `research` whose calls become tasks of the specification's own kinds.

use std::time::Duration;

use async_trait::async_trait;
use pudu_app::ports::{
    CallError, CallFault, Caller, Listing, McpClient, RawTool, TaskMethod, TaskProtocol, TaskReply,
    TaskRequest, ToolCall,
};
use pudu_config::Server;
use pudu_domain::{Snapshot, Status};
use serde_json::{Value, json};

use super::{Failure, FakeServer};
use crate::fixture::{CANCEL_TOOL, INPUT_TOOL, STATUS_TOOL, SUBMIT_TOOL};

/// A client whose every server is the fake one. Tools: `echo` and the toolset of [`crate::fixture::server`], and `research` of a
/// server that lets calls become tasks.
#[derive(Clone)]
pub struct FakeClient {
    server: FakeServer,
    tasks: Option<TaskProtocol>,
}

/// The tool whose calls become tasks.
const RESEARCH: &str = "research";
/// The error of a server that has no such task.
const NO_SUCH_TASK: i64 = -32602;

impl FakeServer {
    /// A client that speaks to it.
    pub fn client(&self) -> FakeClient {
        FakeClient { server: self.clone(), tasks: None }
    }

    /// The same of a server that lets calls become tasks in this way.
    pub fn client_with(&self, tasks: TaskProtocol) -> FakeClient {
        FakeClient { server: self.clone(), tasks: Some(tasks) }
    }
}

impl FakeClient {
    /// A call of `research`: a task for whoever takes one, else its end at once.
    fn research(&self, server: &Server, call: ToolCall) -> Result<Value, CallError> {
        let (handle, mut snapshot) = self.server.submit(call.arguments).map_err(|_| CallError {
            server: server.name.clone(),
            fault: CallFault::NotSent,
            message: "the server is down".to_owned(),
        })?;
        let begun = self.server.tasks().into_iter().find(|task| task.handle == handle);
        snapshot.poll_after = begun.and_then(|task| task.plan.hint);
        Ok(match call.tasks.filter(|tasks| Some(*tasks) == self.tasks) {
            None => json!({"content": [{"type": "text", "text": "done at once"}]}),
            Some(TaskProtocol::Extension) => {
                let mut created = task(TaskProtocol::Extension, &handle, &snapshot);
                if let Some(fields) = created.as_object_mut() {
                    fields.insert("resultType".to_owned(), json!("task"));
                }
                created
            }
            Some(TaskProtocol::Core) => json!({"task": task(TaskProtocol::Core, &handle, &snapshot)}),
        })
    }
}

/// A task of the specification's own kinds, with what the extension has in it.
fn task(protocol: TaskProtocol, handle: &str, snapshot: &Snapshot) -> Value {
    let status = match snapshot.status {
        Status::Submitted => "working",
        status => status.as_str(),
    };
    let extension = protocol == TaskProtocol::Extension;
    let (pause, ttl) = if extension { ("pollIntervalMs", "ttlMs") } else { ("pollInterval", "ttl") };
    let millis = |after: Duration| u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    let question = || {
        let message = snapshot.input_required.as_ref().and_then(|asked| asked.get("prompt"));
        let schema =
            json!({"type": "object", "required": ["year"], "properties": {"year": {"type": "integer"}}});
        json!({"q": {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}})
    };
    let inlined = [
        ("result", snapshot.result.clone().map(structured)),
        ("error", snapshot.error.as_ref().map(|text| json!({"code": -32603, "message": text}))),
        ("inputRequests", (snapshot.status == Status::InputRequired).then(question)),
    ];
    let fields = [
        ("taskId", Some(json!(handle))),
        ("status", Some(json!(status))),
        (pause, snapshot.poll_after.map(|after| json!(millis(after)))),
        (ttl, Some(Value::Null)),
    ];
    let all = fields.into_iter().chain(inlined.into_iter().filter(|_| extension));
    all.filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
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
        let tools = vec![
            tool("echo", "text"),
            submit,
            tool(STATUS_TOOL, "task_id"),
            tool(CANCEL_TOOL, "task_id"),
            tool(INPUT_TOOL, "task_id"),
        ];
        let research = json!({
            "name": RESEARCH, "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"},
        });
        let research = RawTool { name: RESEARCH.into(), definition: research };
        let tools = tools.into_iter().chain(self.tasks.map(|_| research)).collect();
        Ok(Listing { tools, tasks: self.tasks, ..Listing::default() })
    }

    async fn call_tool(
        &self,
        server: &Server,
        _caller: &Caller,
        call: ToolCall,
        _limit: Duration,
    ) -> Result<Value, CallError> {
        if call.tool == RESEARCH && self.tasks.is_some() {
            return self.research(server, call);
        }
        let ToolCall { tool, arguments, .. } = call;
        let handle = arguments.get("task_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        match tool.as_str() {
            "echo" => {
                Ok(json!({"content": [{"type": "text", "text": Value::Object(arguments).to_string()}]}))
            }
            SUBMIT_TOOL => Ok(match self.server.submit(arguments) {
                Ok((handle, _)) => structured(json!({"task_id": handle, "status": "running"})),
                Err(Failure::Error(text) | Failure::Nonsense(text)) => failed(&text),
                Err(Failure::NotFound) => failed("not found"),
            }),
            STATUS_TOOL => Ok(told(&handle, self.server.status(&handle))),
            CANCEL_TOOL => Ok(told(&handle, self.server.cancel(&handle))),
            INPUT_TOOL => {
                let input = arguments.get("input").unwrap_or(&Value::Null);
                Ok(match self.server.answer(&handle, input) {
                    Ok(_) => structured(json!({"task_id": handle})),
                    Err(Failure::Error(text) | Failure::Nonsense(text)) => failed(&text),
                    Err(Failure::NotFound) => failed("not found"),
                })
            }
            other => Err(CallError {
                server: server.name.clone(),
                fault: CallFault::Refused,
                message: format!("unknown tool '{other}'"),
            }),
        }
    }

    async fn ask_task(
        &self,
        server: &Server,
        _caller: &Caller,
        request: TaskRequest,
        _limit: Duration,
    ) -> Result<TaskReply, CallError> {
        let fault = |fault, message: String| CallError { server: server.name.clone(), fault, message };
        let Some(protocol) = self.tasks else {
            return Err(fault(CallFault::Refused, "the server knows no tasks".to_owned()));
        };
        let handle = request.params.get("taskId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let snapshot = match request.method {
            TaskMethod::Cancel => self.server.cancel(&handle),
            TaskMethod::Get | TaskMethod::Update | TaskMethod::Result => self.server.status(&handle),
        };
        let snapshot = match snapshot {
            Ok(snapshot) => snapshot,
            Err(Failure::Error(text)) => return Err(fault(CallFault::Broken, text)),
            Err(Failure::Nonsense(_)) => {
                return Ok(TaskReply::Said(json!({"taskId": format!("not-{handle}"), "status": "working"})));
            }
            Err(Failure::NotFound) => {
                let error = fault(CallFault::Refused, "there is no such task".to_owned());
                return Ok(TaskReply::Error { code: NO_SUCH_TASK, error });
            }
        };
        let told = || task(protocol, &handle, &snapshot);
        Ok(TaskReply::Said(match (request.method, protocol) {
            (TaskMethod::Get, _) | (TaskMethod::Cancel, TaskProtocol::Core) => told(),
            (TaskMethod::Cancel | TaskMethod::Update, _) => json!({"resultType": "complete"}),
            (TaskMethod::Result, _) => match snapshot.error {
                Some(text) => failed(&text),
                None => structured(snapshot.result.unwrap_or_default()),
            },
        }))
    }
}
