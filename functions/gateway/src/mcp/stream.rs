//! Answers as streams of events: what a server says of a call before its result reaches the client while it is said.
//!
//! An answer before which nothing is said stays JSON, also for a client that would hear. The call lives in the stream: a client that
//! closes it cancels the call.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, header};
use serde_json::Value;
use tokio::sync::mpsc;

use super::message::Request;
use super::{Served, accepts};

/// Most notifications that wait for a client that reads slowly; more are dropped, as progress may be.
pub(super) const WAITING: usize = 64;

type Serving = Pin<Box<dyn Future<Output = Served> + Send>>;

/// Whether the client would hear something before the result: it asked for that, and reads streams.
pub(super) fn is_wanted(headers: &HeaderMap, request: &Request) -> bool {
    let asked =
        ["progressToken", "io.modelcontextprotocol/logLevel"].iter().any(|key| request.meta(key).is_some());
    let reads = |accept| accepts(accept, &["text/event-stream"]);
    request.method == "tools/call" && asked && headers.get_all(header::ACCEPT).iter().any(reads)
}

/// What is still to come.
struct Coming {
    first: Option<Value>,
    serving: Serving,
    /// The answer, once it is there; what was said before it goes first.
    served: Option<Served>,
    heard: mpsc::Receiver<Value>,
    id: Value,
    over: bool,
}

/// The answer to request `id`: JSON, unless something is said first.
pub(super) async fn answer(id: Value, mut serving: Serving, mut heard: mpsc::Receiver<Value>) -> Response {
    let (first, served) = tokio::select! {
        biased;
        Some(note) = heard.recv() => (note, None),
        served = &mut serving => match heard.try_recv() {
            Ok(note) => (note, Some(served)),
            Err(_) => return served.response(&id),
        },
    };
    let coming = Coming { first: Some(first), serving, served, heard, id, over: false };
    let events = stream::unfold(coming, |mut coming| async move {
        let event = coming.next().await?;
        Some((Ok::<_, Infallible>(event), coming))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, Body::from_stream(events)).into_response()
}

impl Coming {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(event(first.to_string().as_bytes()));
        }
        if self.over {
            return None;
        }
        if self.served.is_none() {
            tokio::select! {
                biased;
                Some(note) = self.heard.recv() => return Some(event(note.to_string().as_bytes())),
                served = &mut self.serving => self.served = Some(served),
            }
        }
        if let Ok(note) = self.heard.try_recv() {
            return Some(event(note.to_string().as_bytes()));
        }
        self.over = true;
        self.served.take().map(|served| event(&served.message(&self.id)))
    }
}

/// JSON has no line breaks of its own.
fn event(message: &[u8]) -> Bytes {
    [b"event: message\ndata: ", message, b"\n\n"].concat().into()
}
