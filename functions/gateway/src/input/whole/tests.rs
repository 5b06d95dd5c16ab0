//! Bodies that come in pieces, slowly, or not at all; in virtual time.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::stream::{self, Stream, StreamExt};
use http::{HeaderMap, StatusCode, header};
use pudu_app::ports::Clock;
use pudu_lambda::clock::SystemClock;

use super::{MAX_BODY, Patience, whole};
use crate::error::Failure;

/// These pieces, each after so much time.
fn pieces(pieces: Vec<(u64, Vec<u8>)>) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::iter(pieces).then(async |(millis, piece)| {
        tokio::time::advance(Duration::from_millis(millis)).await;
        Ok(Bytes::from(piece))
    })
}

async fn read(body: Body) -> Result<Bytes, Failure> {
    whole(&HeaderMap::new(), body, Patience::default()).await
}

fn status(read: Result<Bytes, Failure>) -> StatusCode {
    use axum::response::IntoResponse;
    read.unwrap_err().into_response().status()
}

#[tokio::test(start_paused = true)]
async fn pieces_are_joined_whatever_their_number() {
    for (given, expected) in [
        (vec![], &b""[..]),
        (vec![(0, b"abc".to_vec())], b"abc"),
        (vec![(0, vec![]), (9_999, b"a".to_vec()), (9_999, vec![]), (9_999, b"bc".to_vec())], b"abc"),
        (vec![(0, b"a".to_vec()), (0, b"b".to_vec()), (0, b"c".to_vec())], b"abc"),
    ] {
        assert_eq!(read(Body::from_stream(pieces(given))).await.unwrap(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stops_or_drips_is_408() {
    let stops = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b"{"))]).chain(stream::pending());
    let began = tokio::time::Instant::now();
    assert_eq!(status(read(Body::from_stream(stops)).await), StatusCode::REQUEST_TIMEOUT);
    assert_eq!(began.elapsed(), Duration::from_secs(10));
    let drips = stream::unfold((), async |()| {
        SystemClock.sleep(Duration::from_secs(4)).await;
        Some((Ok::<_, Infallible>(Bytes::from_static(b" ")), ()))
    });
    let began = tokio::time::Instant::now();
    assert_eq!(status(read(Body::from_stream(drips)).await), StatusCode::REQUEST_TIMEOUT);
    assert_eq!(began.elapsed(), Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn a_body_over_a_mebibyte_is_413_announced_or_not() {
    let fits = vec![(0, vec![b' '; MAX_BODY - 1]), (0, vec![b' '])];
    assert_eq!(read(Body::from_stream(pieces(fits))).await.unwrap().len(), MAX_BODY);
    for long in [vec![(0, vec![b' '; MAX_BODY + 1])], vec![(0, vec![b' '; MAX_BODY]), (0, vec![b' '])]] {
        assert_eq!(status(read(Body::from_stream(pieces(long))).await), StatusCode::PAYLOAD_TOO_LARGE);
    }
    // Nothing of it is read: it never comes.
    let announced = HeaderMap::from_iter([(header::CONTENT_LENGTH, "1048577".parse().unwrap())]);
    let never = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
    assert_eq!(status(whole(&announced, never, Patience::default()).await), StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_off_is_400() {
    let broken = stream::iter([Ok(Bytes::from_static(b"{")), Err(std::io::Error::other("gone"))]);
    assert_eq!(status(read(Body::from_stream(broken)).await), StatusCode::BAD_REQUEST);
}
