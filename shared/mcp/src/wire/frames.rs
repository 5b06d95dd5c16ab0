//! Reading a stream of events, with a bound: the parser's own buffer has none.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::{FutureExt, Stream, StreamExt, stream};
use sse_stream::SseStream;

use super::{Events, Failure, MAX_ANSWER_BYTES};
use crate::redact::Redactor;

/// What the bound of [`MAX_ANSWER_BYTES`] is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// The whole stream: it is one answer.
    Stream,
    /// What comes between two events: the stream is a conversation, which time ends.
    Event,
}

/// The events of `bytes`. An `Err` is the last item.
pub(super) fn frames(
    redactor: Redactor,
    bytes: impl Stream<Item = Result<Bytes, Failure>> + Send + 'static,
    bound: Bound,
) -> Events {
    let used = Arc::new(AtomicUsize::new(0));
    let (count, shown) = (Arc::clone(&used), redactor.clone());
    let bytes = bytes.flat_map(|chunk| stream::iter(lines(chunk))).map(move |chunk| {
        let chunk = chunk?;
        let all = count.fetch_add(chunk.len(), Ordering::Relaxed).saturating_add(chunk.len());
        if all > MAX_ANSWER_BYTES { Err(Failure::too_large(&shown)) } else { Ok(chunk) }
    });
    let mut ended = false;
    SseStream::from_bytes_stream(bytes)
        .map(move |event| {
            if bound == Bound::Event {
                used.store(0, Ordering::Relaxed);
            }
            event.map_err(|error| match error {
                sse_stream::Error::Body(inner) => inner.downcast::<Failure>().map_or_else(
                    |_| Failure::not_mcp(&redactor, "answered with a stream that cannot be read"),
                    |failure| *failure,
                ),
                _ => Failure::not_mcp(&redactor, "answered with events that cannot be read"),
            })
        })
        .take_while(move |event| {
            let goes_on = !ended;
            ended |= event.is_err();
            std::future::ready(goes_on)
        })
        .boxed()
}

/// A chunk line by line: the parser drops the events of a chunk in which a later line is bad, and a server's answer must
/// not depend on what came after it, or on where the network cut.
fn lines(chunk: Result<Bytes, Failure>) -> Vec<Result<Bytes, Failure>> {
    let mut rest = match chunk {
        Ok(chunk) => chunk,
        Err(failure) => return vec![Err(failure)],
    };
    let mut lines = Vec::new();
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        lines.push(Ok(rest.split_to(end + 1)));
    }
    if !rest.is_empty() {
        lines.push(Ok(rest));
    }
    lines
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its name (`event:`).
    pub name: Option<String>,
    /// Its lines of `data:`.
    pub data: Option<String>,
    /// Its id, from which a stream can be taken up again.
    pub id: Option<String>,
}

/// The events in a stream that comes in these chunks, read by the same code as every stream of a server's, for tests and
/// fuzzing. A stream that cannot be read ends with the error's text in place of an event.
pub fn read_events(chunks: impl IntoIterator<Item = Vec<u8>>) -> Vec<Result<Event, String>> {
    let chunks: Vec<_> = chunks.into_iter().map(|chunk| Ok(Bytes::from(chunk))).collect();
    let events = frames(Redactor::default(), stream::iter(chunks), Bound::Stream);
    let read = events.map(|event| match event {
        Ok(event) => Ok(Event { name: event.event, data: event.data, id: event.id }),
        Err(failure) => Err(failure.message),
    });
    // Every chunk is there, so nothing is waited for.
    read.collect().now_or_never().unwrap_or_default()
}

#[cfg(test)]
mod tests;
