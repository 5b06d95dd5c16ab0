//! The HTTP+SSE transport of revision 2024-11-05: a stream of events, whose first says where to POST messages, and whose
//! others are the server's messages.
//!
//! A session per call, as for the transport that came after it. The place to POST to is the server's word, so it must be
//! of the same origin: credentials go with every message. What is between messages and the SDK is the
//! [`Pipe`](crate::pipe)'s.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue};
use pudu_app::ports::CallFault;
use sse_stream::Sse;
use url::Url;

use crate::pipe::{Inlet, Outlet, Peer, Pipe};
use crate::target::Target;
use crate::wire::{EVENT_STREAM, Events, Failure, Wire};

/// Opens the stream and waits for the place. How long is its caller's to say.
pub(crate) async fn connect(wire: &Wire, target: &Target) -> Result<Pipe, Failure> {
    let accept = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(EVENT_STREAM))]);
    let Some((place, mut events)) = wire.stream(target, accept).await? else {
        let what = "answered a GET without a stream of events, so it does not speak the older HTTP+SSE \
                    transport; if it speaks Streamable HTTP, its type is 'http'";
        return Err(Failure::not_mcp(target, what));
    };
    let endpoint = endpoint(target, &place, &mut events).await?;
    let outlet = Post { wire: wire.clone(), target: Target { url: endpoint, ..target.clone() } };
    let peer = Peer {
        server: target.server.clone(),
        digest: target.digest.clone(),
        redactor: target.redactor.clone(),
        changes: target.changes.clone(),
    };
    Ok(Pipe::new(peer, messages(events), Arc::new(outlet)))
}

async fn endpoint(target: &Target, place: &Url, events: &mut Events) -> Result<Url, Failure> {
    while let Some(event) = events.next().await {
        let event = event?;
        if event.event.as_deref() != Some("endpoint") {
            continue;
        }
        let said = event.data.unwrap_or_default();
        let mut url = place
            .join(said.trim())
            .map_err(|_| Failure::not_mcp(target, "named an 'endpoint' that is no URL"))?;
        if url.origin() != place.origin() {
            let what = "named an 'endpoint' of another origin; messages and credentials go to its own only";
            return Err(Failure::not_mcp(target, what));
        }
        // The user info is ours to give, not the server's. An http URL takes both.
        let _ = url.set_username(target.url.username());
        let _ = url.set_password(target.url.password());
        return Ok(url);
    }
    let what = "the stream of events ended before it said where to send messages";
    Err(Failure::new(CallFault::Broken, what))
}

/// The messages among the events. An event of another name is for somebody else.
fn messages(events: Events) -> Inlet {
    let message = |event: Sse| match event.event.as_deref() {
        None | Some("message") => event.data.filter(|data| !data.trim().is_empty()).map(String::into_bytes),
        Some(_) => None,
    };
    events.filter_map(move |event| std::future::ready(event.map(message).transpose())).boxed()
}

/// Where our messages go. The stream is the inlet's: it closes when that is dropped.
struct Post {
    wire: Wire,
    target: Target,
}

#[async_trait]
impl Outlet for Post {
    async fn send(&self, message: Vec<u8>) -> Result<(), Failure> {
        self.wire.tell(&self.target, HeaderMap::new(), message).await
    }

    async fn close(&self) {}
}
