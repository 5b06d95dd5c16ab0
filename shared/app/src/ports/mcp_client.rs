//! Other people's MCP servers: list tools, call one. Raw JSON in both directions, because typed models drop what they do
//! not know.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pudu_config::Server;
use pudu_domain::ThreadKey;
use serde_json::{Map, Value};

use super::{Caller, Era};

/// A tool as its server describes it, unchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct RawTool {
    /// The server's own name for it.
    pub name: String,
    /// The whole definition, with everything that we do not know.
    pub definition: Value,
}

/// What a server answered to the question for its tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// Every tool, all pages, in the server's order.
    pub tools: Vec<RawTool>,
    /// How long the server says that this holds (`ttlMs`), if it says so.
    pub ttl: Option<Duration>,
    /// As what calls of its tools may become tasks, if they may.
    pub tasks: Option<TaskProtocol>,
    /// What it listed and nobody can call, at most [`MAX_LEFT_OUT`].
    pub left_out: Vec<LeftOut>,
}

/// Most tools of which it is told why they are left out: how many there are is the server's choice.
pub const MAX_LEFT_OUT: usize = 100;

/// A tool that is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name, as far as it has one; as it may be shown.
    pub tool: Option<String>,
    /// Why.
    pub reason: &'static str,
}

/// How a server itself lets calls become tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskProtocol {
    /// The extension `io.modelcontextprotocol/tasks` of 2026-07-28: any call may become one, as the server decides.
    Extension,
    /// The core tasks of 2025-11-25: the caller asks for one, where the tool supports it.
    Core,
}

impl TaskProtocol {
    /// Its name in stored rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Extension => "extension",
            Self::Core => "core",
        }
    }

    /// The one of that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Extension, Self::Core].into_iter().find(|protocol| protocol.as_str() == name)
    }
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool by its server's own name.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// Its definition as the server listed it, where it is known: it says which arguments travel as headers too and what
    /// the structured content must look like.
    pub definition: Option<Arc<Value>>,
    /// As what the caller takes a task instead of the result, if it does. A server that does not speak so answers with the
    /// result.
    pub tasks: Option<TaskProtocol>,
}

impl ToolCall {
    /// A call whose caller takes nothing but the result, of a tool that need not be known.
    pub fn plain(tool: impl Into<String>, arguments: Map<String, Value>) -> Self {
        Self { tool: tool.into(), arguments, definition: None, tasks: None }
    }
}

/// One request about a task that a call became.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRequest {
    /// What is wanted.
    pub method: TaskMethod,
    /// Its parameters, the task's id among them.
    pub params: Map<String, Value>,
    /// The tool whose call became the task, by its server's own name: interceptors may go by it.
    pub tool: String,
}

/// What can be wanted of such a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskMethod {
    /// How it is.
    Get,
    /// To take answers to its questions (the extension).
    Update,
    /// To end.
    Cancel,
    /// What its call brought (core tasks).
    Result,
}

impl TaskMethod {
    /// The method's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "tasks/get",
            Self::Update => "tasks/update",
            Self::Cancel => "tasks/cancel",
            Self::Result => "tasks/result",
        }
    }
}

/// What a server answered to a request about a task.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskReply {
    /// The result object, unchanged.
    Said(Value),
    /// A JSON-RPC error of the server itself (not of whoever lets callers in).
    Error {
        /// Its code.
        code: i64,
        /// The error as it may be shown.
        error: CallError,
    },
}

/// Why a call brought no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallFault {
    /// The request certainly never reached the server: nothing happened there.
    NotSent,
    /// No answer in time; the server may have acted.
    Timeout,
    /// The connection or the HTTP exchange failed after the request may have been sent; the server may have acted.
    Broken,
    /// The server answered that it did not begin the request. An error that may come after acting is [`Self::Broken`].
    Refused,
    /// The server answered something that is not MCP.
    Protocol,
    /// The server acted, and its result is not what the tool declares (`outputSchema`): another try gives no other.
    Violation,
    /// The entry in the config cannot be used: an unset variable, an illegal header, an unknown transport.
    Config,
    /// A credential that the call needs is missing, so nothing was sent: of this user, of this request, or refused to us
    /// by its token server.
    Denied,
}

/// A failed call. The text names the server and what to do; it never holds a credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("server '{server}': {message}")]
pub struct CallError {
    /// Which server.
    pub server: String,
    /// What kind of failure.
    pub fault: CallFault,
    /// What happened, redacted.
    pub message: String,
}

/// A result, and what is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The result object, unchanged.
    pub result: Value,
    /// Why the result is not to be used, if it is not: [`McpClient::call_tool`] would have failed with this.
    pub broken: Option<CallError>,
}

/// A client of MCP servers over any transport and protocol revision.
#[async_trait]
pub trait McpClient: Send + Sync {
    /// All tools of a server, all pages, within `limit` (connect, initialize and list together). Asked with the server's own
    /// credentials, never with a user's or a request's: one catalogue serves all.
    async fn list_tools(&self, server: &Server, limit: Duration) -> Result<Listing, CallError>;

    /// Calls a tool for `caller`, within `limit` (connect, initialize and call together), and returns the result object
    /// (`content`, `structuredContent`, `isError`, …) unchanged. It is executed at most once: it is sent again only where
    /// the first sending was certainly not executed.
    async fn call_tool(
        &self,
        server: &Server,
        caller: &Caller,
        call: ToolCall,
        limit: Duration,
    ) -> Result<Value, CallError>;

    /// The same call for a caller that needs the result even when it breaks what its tool declares: whoever started something
    /// there finds in it how to end it. Everybody else wants [`call_tool`](Self::call_tool), which shows no such result.
    async fn call_tool_judged(
        &self,
        server: &Server,
        caller: &Caller,
        call: ToolCall,
        limit: Duration,
    ) -> Result<Judged, CallError> {
        let result = self.call_tool(server, caller, call, limit).await?;
        Ok(Judged { result, broken: None })
    }

    /// Asks about a task that a call became, within `limit`, for the task's owner. It passes the interceptors as the call did.
    /// Errors: what is not the server's own answer, as for a call.
    async fn ask_task(
        &self,
        server: &Server,
        caller: &Caller,
        request: TaskRequest,
        limit: Duration,
    ) -> Result<TaskReply, CallError>;

    /// Why `result`, which came of a task, is not what `tool` declares, if anything is known of that. Asks the server at most
    /// within `limit`.
    async fn judge_result(
        &self,
        _server: &Server,
        _tool: &str,
        _result: &Value,
        _limit: Duration,
    ) -> Option<CallError> {
        None
    }

    /// How the server is spoken with, as far as somebody has found out. Never asks it.
    async fn era(&self, server: &Server) -> Option<Era> {
        let _ = server;
        None
    }

    /// Why this client cannot run durable tasks of `server` here, as a sentence for the operator; none when it can. Such a
    /// server's toolsets are off, its other tools are not.
    fn task_obstacle(&self, server: &Server) -> Option<String> {
        let _ = server;
        None
    }

    /// From now on only the servers of these names are called: lets go of what is kept open for others. Calls that are under
    /// way end as they would.
    fn keep_servers(&self, _names: &BTreeSet<&str>) {}

    /// A thread was deleted: ends what is kept open for it, and waits until it has ended, but not for long.
    async fn close_thread(&self, _thread: &ThreadKey) {}

    /// The process is about to end, or everything is to begin anew: ends all that is kept open, in the same way.
    async fn close_all(&self) {}
}
