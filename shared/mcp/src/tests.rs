//! The client against real servers over loopback: the SDK's own in every revision, and scripted ones that break the
//! rules. Nothing waits by sleeping; what must not end is bounded by the client's own limit.

mod chain;
mod credentials;
mod eras;
mod faults;
mod folders;
mod headers;
pub(crate) mod host;
mod lists;
mod oauth;
mod peers;
mod raw;
mod sdk_peer;
mod sessions;
mod sse;
mod sse_peer;
mod tiers;
mod timeouts;
mod traces;

use std::sync::Arc;
use std::time::Duration;

use pudu_app::ports::{CallError, Caller, Era, McpClient, ToolCall};
use pudu_config::{Document, NoSecrets, Server};
use pudu_domain::{ThreadId, ThreadKey, UserId};
use pudu_testkit::fixture::token_ports;
use serde_json::{Map, Value, json};

use crate::{Client, Egress};

/// Far longer than anything here takes.
const LONG: Duration = Duration::from_secs(30);

/// The entry `peer` with these fields.
fn entry(fields: Value) -> Server {
    let servers = Map::from_iter([("peer".to_owned(), fields)]);
    let document = Document::parse(json!({"mcpServers": servers})).expect("a valid config");
    document.server("peer").expect("the entry").clone()
}

pub(crate) fn http(url: &str) -> Server {
    entry(json!({"type": "http", "url": url}))
}

fn sse(url: &str) -> Server {
    entry(json!({"type": "sse", "url": url}))
}

fn client() -> Client {
    Client::new(Arc::new(NoSecrets), Egress::machine(), token_ports()).expect("a client")
}

/// A client that already knows the era of `server`, so that a tiny limit is spent on the call alone.
fn knowing(server: &Server, era: Era) -> Client {
    let client = client();
    let target = crate::target::Target::of(server, &NoSecrets).expect("a target");
    client.eras.keep(&target.era_key(), era);
    client
}

fn caller() -> Caller {
    let user = UserId::parse("local:default").expect("a user");
    Caller::of(ThreadKey { user, thread: ThreadId::parse("t").expect("a thread") })
}

fn tool(name: &str, arguments: Value) -> ToolCall {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    ToolCall::plain(name, arguments)
}

async fn call(client: &Client, server: &Server, limit: Duration) -> Result<Value, CallError> {
    client.call_tool(server, &caller(), tool("echo", json!({"text": "hi"})), limit).await
}
