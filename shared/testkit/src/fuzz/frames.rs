//! SSE frames: whatever a server streams as its answer.
//!
//! Through the client's own door, [`pudu_mcp::Client`] over a loopback connection, because what is to be proved is what a
//! caller sees, not what one parser does.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use pudu_app::ports::{CallError, CallFault, Caller, Era, McpClient, PeerStore, StoreError, ToolCall};
use pudu_config::{Document, NoSecrets, Server};
use pudu_domain::{ThreadId, ThreadKey, UserId};
use pudu_mcp::{Client, Egress};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::fixture::token_ports;

/// Far longer than any answer here takes: the server has ended its stream by then.
const LIMIT: Duration = Duration::from_secs(20);
/// Stands for the id of the request, which the input cannot know.
const ID: &[u8] = b"@ID";

/// `data` is the body of the answer to a call, `@ID` in it the request's id; its first byte says where the body is cut. The
/// call ends by itself, and where the network cuts the stream changes nothing about its outcome.
pub fn frames(data: &[u8]) {
    static STAGE: OnceLock<Stage> = OnceLock::new();
    let Some((cut, body)) = data.split_first() else { return };
    let stage = STAGE.get_or_init(Stage::set);
    let whole = stage.outcome(body, usize::MAX);
    let pieces = stage.outcome(body, usize::from(*cut) + 1);
    assert_eq!(whole, pieces, "where the stream is cut changes what it says");
    match whole {
        Ok(result) => assert!(result.is_object(), "{result}"),
        Err(error) => {
            let of_stream = [CallFault::Broken, CallFault::Protocol, CallFault::Refused];
            assert!(of_stream.contains(&error.fault), "{error:?}");
        }
    }
}

/// A server that streams what it is told, and a client that knows it.
struct Stage {
    runtime: Runtime,
    client: Client,
    server: Server,
    script: Arc<Mutex<Script>>,
    _serving: JoinSet<()>,
}

#[derive(Default)]
struct Script {
    body: Vec<u8>,
    piece: usize,
}

impl Stage {
    fn set() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let script = Arc::new(Mutex::new(Script::default()));
        let mut serving = JoinSet::new();
        let (client, server) = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port of the loopback");
            let url = format!("http://{}/mcp", listener.local_addr().expect("it has an address"));
            serving.spawn(serve(listener, Arc::clone(&script)));
            let entry = json!({"mcpServers": {"peer": {"type": "http", "url": url}}});
            let document = Document::parse(entry).expect("a valid config");
            let server = document.server("peer").expect("the server").clone();
            let client =
                Client::new(Arc::new(NoSecrets), Egress::machine(), token_ports()).expect("a client");
            (client.with_peers(Arc::new(Newest)), server)
        });
        Self { runtime, client, server, script, _serving: serving }
    }

    fn outcome(&self, body: &[u8], piece: usize) -> Result<Value, CallError> {
        *self.script.lock().unwrap_or_else(PoisonError::into_inner) = Script { body: body.to_vec(), piece };
        let user = UserId::parse("local:default").expect("a user");
        let thread = ThreadKey { user, thread: ThreadId::parse("t").expect("a thread") };
        let call = ToolCall { tool: "echo".to_owned(), arguments: Map::new(), definition: None };
        self.runtime.block_on(self.client.call_tool(&self.server, &Caller::of(thread), call, LIMIT))
    }
}

/// Every peer speaks the newest revision: a call is one POST.
struct Newest;

#[async_trait]
impl PeerStore for Newest {
    async fn recall(&self, _key: &str) -> Result<Option<Era>, StoreError> {
        Ok(Some(Era::Stateless))
    }

    async fn remember(&self, _key: &str, _era: Era) -> Result<(), StoreError> {
        Ok(())
    }

    async fn forget(&self, _key: &str) -> Result<(), StoreError> {
        Ok(())
    }
}

async fn serve(listener: TcpListener, script: Arc<Mutex<Script>>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(answer(stream, Arc::clone(&script)).map(drop));
        while connections.try_join_next().is_some() {}
    }
}

/// Answers one request after another by the script, in chunks of its size.
async fn answer(mut stream: TcpStream, script: Arc<Mutex<Script>>) -> std::io::Result<()> {
    let mut received = Vec::new();
    loop {
        let request = loop {
            if let Some((request, length)) = complete(&received) {
                received.drain(..length);
                break request;
            }
            if stream.read_buf(&mut received).await? == 0 {
                return Ok(());
            }
        };
        let mut answer =
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                .to_vec();
        {
            let script = script.lock().unwrap_or_else(PoisonError::into_inner);
            let id = request.get("id").cloned().unwrap_or_default().to_string();
            for chunk in replaced(&script.body, id.as_bytes()).chunks(script.piece) {
                answer.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                answer.extend_from_slice(chunk);
                answer.extend_from_slice(b"\r\n");
            }
        }
        answer.extend_from_slice(b"0\r\n\r\n");
        stream.write_all(&answer).await?;
    }
}

/// The first request in `received`, when all of it is there, and its length.
fn complete(received: &[u8]) -> Option<(Value, usize)> {
    let head = received.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(received.get(..head)?).ok()?.to_ascii_lowercase();
    let length =
        text.lines().find_map(|line| line.strip_prefix("content-length:"))?.trim().parse::<usize>().ok()?;
    let body = received.get(head..head + length)?;
    Some((serde_json::from_slice(body).unwrap_or_default(), head + length))
}

fn replaced(body: &[u8], id: &[u8]) -> Vec<u8> {
    let mut filled = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(first) = rest.first() {
        if let Some(after) = rest.strip_prefix(ID) {
            filled.extend_from_slice(id);
            rest = after;
        } else {
            filled.push(*first);
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    filled
}
