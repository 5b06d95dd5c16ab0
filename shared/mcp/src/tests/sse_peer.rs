//! A server of the HTTP+SSE transport of 2024-11-05, scripted: a GET opens a session's stream, POSTs beside it are
//! answered there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::host::{Host, Seen};

/// What the peer does with a `tools/call` (and with nothing else).
#[derive(Clone)]
pub(super) enum Act {
    /// Sends these messages on the stream, each with the call's id where it says `"id": "?"`.
    Say(Vec<Value>),
    /// Sends this text on the stream as it is.
    Write(String),
    /// Takes it and says nothing.
    Nothing,
    /// Takes it and closes the stream.
    Close,
    /// Answers the POST with this.
    Refuse(StatusCode),
}

/// How the peer is.
#[derive(Clone)]
pub(super) struct SsePeer {
    /// What it writes on a new stream; `{n}` is the session and `{home}` its own authority.
    pub(super) greeting: &'static str,
    /// What a POST to the place of the stream gets.
    pub(super) posted: StatusCode,
    /// The revision it speaks.
    pub(super) version: &'static str,
    pub(super) act: Act,
}

impl Default for SsePeer {
    fn default() -> Self {
        Self {
            greeting: "event: endpoint\ndata: /messages/{n}\n\n",
            posted: StatusCode::METHOD_NOT_ALLOWED,
            version: "2024-11-05",
            act: Act::Say(vec![json!({"jsonrpc": "2.0", "id": "?", "result": {"content": [], "x": 1}})]),
        }
    }
}

type Streams = Arc<Mutex<HashMap<String, UnboundedSender<Bytes>>>>;

impl SsePeer {
    pub(super) async fn start(self) -> Host {
        let streams = Streams::default();
        Host::scripted(move |seen| std::future::ready(self.answer(&streams, &seen))).await
    }

    fn answer(&self, streams: &Streams, seen: &Seen) -> Response {
        let mut streams = streams.lock().unwrap();
        let Some(session) = seen.path.strip_prefix("/messages/") else {
            return match seen.http.as_str() {
                "GET" => self.open(&mut streams, seen),
                _ => self.posted.into_response(),
            };
        };
        let Some(stream) = streams.get(session) else { return StatusCode::NOT_FOUND.into_response() };
        let say = |message: &Value| {
            let _ = stream.send(format!("event: message\ndata: {message}\n\n").into());
        };
        let id = &seen.message["id"];
        let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
        match seen.what().as_str() {
            "initialize" => say(&result(json!({
                "protocolVersion": self.version, "capabilities": {"tools": {}},
                "serverInfo": {"name": "old", "version": "1"},
            }))),
            "tools/list" => say(&result(json!({"tools": [{"name": "echo", "x-new": 1}]}))),
            "tools/call" => match &self.act {
                Act::Say(messages) => {
                    for message in messages {
                        let mut message = message.clone();
                        if message["id"] == "?" {
                            message["id"] = id.clone();
                        }
                        say(&message);
                    }
                }
                Act::Write(text) => {
                    let _ = stream.send(text.clone().into());
                }
                Act::Nothing => {}
                Act::Close => {
                    streams.remove(session);
                }
                Act::Refuse(status) => return status.into_response(),
            },
            _ => {}
        }
        (StatusCode::ACCEPTED, "Accepted").into_response()
    }

    fn open(&self, streams: &mut HashMap<String, UnboundedSender<Bytes>>, seen: &Seen) -> Response {
        let (stream, events) = unbounded_channel();
        let session = (streams.len() + 1).to_string();
        let home = seen.headers["host"].to_str().unwrap();
        let _ = stream.send(self.greeting.replace("{n}", &session).replace("{home}", home).into());
        streams.insert(session, stream);
        ([("content-type", "text/event-stream; charset=utf-8")], Body::from_stream(received(events)))
            .into_response()
    }
}

fn received(
    events: UnboundedReceiver<Bytes>,
) -> impl futures_util::Stream<Item = Result<Bytes, std::io::Error>> {
    stream::unfold(events, |mut events| async { events.recv().await.map(|event| (Ok(event), events)) })
}
