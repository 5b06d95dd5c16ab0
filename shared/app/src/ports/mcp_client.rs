//! Other people's MCP servers: list tools, call one. Raw JSON in both directions, because typed models drop what they do
//! not know.

use std::time::Duration;

use async_trait::async_trait;
use pudu_config::Server;
use serde_json::{Map, Value};

/// A tool as its server describes it, unchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct RawTool {
    /// The server's own name for it.
    pub name: String,
    /// The whole definition, with everything that we do not know.
    pub definition: Value,
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
    /// The entry in the config cannot be used: an unset variable, an illegal header, a transport not supported yet.
    Config,
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

/// A client of MCP servers over any transport and protocol revision.
#[async_trait]
pub trait McpClient: Send + Sync {
    /// All tools of a server, all pages, within `limit` (connect, initialize and list together).
    async fn list_tools(&self, server: &Server, limit: Duration) -> Result<Vec<RawTool>, CallError>;

    /// Calls a tool by its raw name, within `limit` (connect, initialize and call together), and returns the result object
    /// (`content`, `structuredContent`, `isError`, …) unchanged. It is sent at most once.
    async fn call_tool(
        &self,
        server: &Server,
        tool: &str,
        arguments: Map<String, Value>,
        limit: Duration,
    ) -> Result<Value, CallError>;
}
