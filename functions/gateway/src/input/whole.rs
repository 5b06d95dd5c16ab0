//! A body, read whole: bounded in bytes and in time, so that a caller that sends slowly holds nothing for long.
//!
//! Bounded here and not in the server: only here has the caller been identified, and only what a route asks for is read at
//! all. A layer that reads every body before the routes was rejected, it would read the body of whoever is refused.

use std::time::Duration;

use axum::body::{Body, Bytes};
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use crate::error::Failure;

/// Largest body, in bytes.
pub(crate) const MAX_BODY: usize = 1024 * 1024;

/// How long a caller may take to send a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// From one piece of it to the next.
    pub piece: Duration,
    /// For all of it.
    pub whole: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { piece: Duration::from_secs(10), whole: Duration::from_secs(30) }
    }
}

/// Reads a body to its end: 413 when it is too large, 408 when it does not come, 400 when it breaks off.
pub(crate) async fn whole(headers: &HeaderMap, mut body: Body, patience: Patience) -> Result<Bytes, Failure> {
    // One that says how long it is need not be read for it.
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if announced.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > MAX_BODY as u64)
    {
        return Err(too_large());
    }
    let last = Instant::now() + patience.whole;
    let mut read = Pieces::default();
    loop {
        let until = last.min(Instant::now() + patience.piece);
        let Ok(frame) = timeout_at(until, body.frame()).await else { return Err(too_slow(patience)) };
        match frame {
            None => return Ok(read.joined()),
            // Trailers mean nothing here.
            Some(Ok(frame)) => read.add(frame.into_data().unwrap_or_default())?,
            Some(Err(_)) => {
                return Err(Failure::new(StatusCode::BAD_REQUEST, "the body did not arrive whole"));
            }
        }
    }
}

fn too_large() -> Failure {
    Failure::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {MAX_BODY} bytes"))
}

fn too_slow(patience: Patience) -> Failure {
    let Patience { piece, whole } = patience;
    let detail = format!("the body came too slowly: nothing for {piece:?}, or not all of it in {whole:?}");
    Failure::new(StatusCode::REQUEST_TIMEOUT, detail)
}

/// Pieces of a body: most have one, which is then not copied.
#[derive(Default)]
struct Pieces {
    first: Bytes,
    joined: Vec<u8>,
}

impl Pieces {
    fn add(&mut self, piece: Bytes) -> Result<(), Failure> {
        let so_far = self.first.len().max(self.joined.len());
        if so_far + piece.len() > MAX_BODY {
            return Err(too_large());
        }
        if so_far == 0 {
            self.first = piece;
            return Ok(());
        }
        if self.joined.is_empty() {
            self.joined.extend_from_slice(&self.first);
        }
        self.joined.extend_from_slice(&piece);
        Ok(())
    }

    fn joined(self) -> Bytes {
        if self.joined.is_empty() { self.first } else { self.joined.into() }
    }
}

#[cfg(test)]
mod tests;
