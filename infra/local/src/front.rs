//! The HTTP server of one machine. It bounds what a connection may hold before and after a route has it: the head of a
//! request, the time until it is there, an answer that nobody reads, and how many there are at once. Bodies are bounded where
//! they are read, in the gateway.
//!
//! On hyper and not on `axum::serve`, which has none of these limits to set.

mod stalled;

use std::io;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use stalled::Stalled;

/// How long accepting rests when the system has no connection to give (no more files, no memory).
const REST: Duration = Duration::from_millis(100);

/// What one connection may hold, and how many there may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Front {
    /// From a connection that is ready for a request until the head of one is there, whole; so also how long an idle
    /// connection stays.
    pub head: Duration,
    /// Largest head of a request, in bytes; a larger one is answered 431. So is one with more than 100 fields.
    pub head_bytes: usize,
    /// How long a caller may leave an answer unread when nothing more of it can be sent.
    pub unread: Duration,
    /// Most connections at once; others wait until the system accepts them.
    pub connections: usize,
}

impl Default for Front {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(30),
            head_bytes: 32 * 1024,
            unread: Duration::from_secs(30),
            connections: 1024,
        }
    }
}

impl Front {
    /// Serves `router` until `stop`, then lets the requests in flight end.
    pub(crate) async fn serve(&self, listener: TcpListener, router: Router, stop: CancellationToken) {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.head).max_header_size(self.head_bytes);
        let mut open = JoinSet::new();
        loop {
            let stream = tokio::select! {
                () = stop.cancelled() => break,
                Some(ended) = open.join_next() => {
                    tell(ended);
                    continue;
                }
                accepted = listener.accept(), if open.len() < self.connections => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        refused(&error, &stop).await;
                        continue;
                    }
                },
            };
            open.spawn(connection(http.clone(), stream, self.unread, router.clone(), stop.clone()));
        }
        // Nobody new is let in while the last ones end.
        drop(listener);
        while let Some(ended) = open.join_next().await {
            tell(ended);
        }
    }
}

/// One connection, to its end; after `stop` that is the end of its request.
async fn connection(
    http: http1::Builder,
    stream: TcpStream,
    unread: Duration,
    router: Router,
    stop: CancellationToken,
) -> Result<(), hyper::Error> {
    // An answer is one small write: waiting for more only delays it. A stream that refuses is slower.
    let _ = stream.set_nodelay(true);
    let stream = TokioIo::new(Stalled::new(stream, unread));
    let mut serving = pin!(http.serve_connection(stream, TowerToHyperService::new(router)));
    tokio::select! {
        served = serving.as_mut() => return served,
        () = stop.cancelled() => serving.as_mut().graceful_shutdown(),
    }
    serving.await
}

/// What a connection ended with is its caller's doing, but for a panic.
fn tell(ended: Result<Result<(), hyper::Error>, JoinError>) {
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a connection ended"),
        Err(error) => tracing::error!(%error, "a request panicked; its connection was closed"),
    }
}

/// A connection that was gone before it was accepted is nothing; what lacks comes back when others end.
async fn refused(error: &io::Error, stop: &CancellationToken) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        return;
    }
    tracing::error!(%error, "no connection can be accepted");
    let _ = timeout(REST, stop.cancelled()).await;
}

#[cfg(test)]
mod tests;
