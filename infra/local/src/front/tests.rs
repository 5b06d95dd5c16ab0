//! Callers who send too little, too much, or never stop; each limit is short, and nobody waits longer than for it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::{get, post};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Front;

/// After which something that has a limit has certainly not had it.
const NEVER: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(50);

struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinSet<()>,
}

impl Server {
    async fn start(front: Front, router: Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let stopped = stop.clone();
        let mut serving = JoinSet::new();
        serving.spawn(async move { front.serve(listener, router, stopped).await });
        Self { address, stop, serving }
    }

    /// A caller who has sent this.
    async fn sent(&self, bytes: &[u8]) -> TcpStream {
        let mut caller = TcpStream::connect(self.address).await.unwrap();
        // One that is refused early may not get everything out.
        let _ = caller.write_all(bytes).await;
        caller
    }
}

/// What comes until the connection ends.
async fn rest(caller: &mut TcpStream) -> String {
    let mut all = Vec::new();
    // What came before a reset counts.
    let _ = timeout(NEVER, caller.read_to_end(&mut all)).await.expect("the connection ends");
    String::from_utf8(all).unwrap()
}

fn hello() -> Router {
    Router::new().route("/", get(async || "hello")).route("/", post(async |body: String| body))
}

fn head(fields: &str) -> String {
    format!("GET / HTTP/1.1\r\nhost: localhost\r\n{fields}\r\n")
}

#[tokio::test]
async fn a_head_that_does_not_come_ends_its_connection() {
    let server = Server::start(Front { head: SHORT, ..Front::default() }, hello()).await;
    for begun in ["", "GET / HTT", "GET / HTTP/1.1\r\nhost: localhost\r\nx: "] {
        assert_eq!(rest(&mut server.sent(begun.as_bytes()).await).await, "");
    }
}

#[tokio::test]
async fn a_head_that_drips_ends_its_connection() {
    let server = Server::start(Front { head: SHORT, ..Front::default() }, hello()).await;
    let (mut reading, mut writing) = TcpStream::connect(server.address).await.unwrap().into_split();
    let dripping = async {
        writing.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nx: ").await.unwrap();
        // Ends when the other side does.
        while writing.write_all(b"x").await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let mut all = Vec::new();
    let reading = async { timeout(NEVER, reading.read_to_end(&mut all)).await.expect("the connection ends") };
    let _ = tokio::join!(dripping, reading);
    // Either limit ends it: so many bytes may be a head that is too large before its time is over.
    assert!(all.is_empty() || all.starts_with(b"HTTP/1.1 431"), "{}", String::from_utf8_lossy(&all));
}

#[tokio::test]
async fn an_idle_connection_ends_and_a_used_one_serves_on() {
    let server = Server::start(Front { head: SHORT, ..Front::default() }, hello()).await;
    let mut caller = server.sent(head("").repeat(3).as_bytes()).await;
    assert_eq!(rest(&mut caller).await.matches("hello").count(), 3);
}

#[tokio::test]
async fn a_head_that_is_too_large_is_431_by_bytes_and_by_fields() {
    let server = Server::start(Front::default(), hello()).await;
    for fields in [
        format!("x: {}\r\n", "x".repeat(33 * 1024)),
        "x: 1\r\n".repeat(101),
        (0..101).map(|n| format!("x-{n}: 1\r\n")).collect::<Vec<_>>().concat(),
        format!("x: {}\r\n", "x".repeat(4 * 1024 * 1024)),
    ] {
        let answer = rest(&mut server.sent(head(&fields).as_bytes()).await).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
    let fits = format!("connection: close\r\nx: {}\r\n", "x".repeat(30 * 1024));
    assert!(rest(&mut server.sent(head(&fits).as_bytes()).await).await.ends_with("hello"));
    let fits = format!("connection: close\r\n{}", "x: 1\r\n".repeat(98));
    assert!(rest(&mut server.sent(head(&fits).as_bytes()).await).await.ends_with("hello"));
}

#[tokio::test]
async fn what_is_no_http_is_400_or_nothing() {
    let server = Server::start(Front { head: SHORT, ..Front::default() }, hello()).await;
    for bytes in [
        &b"\0\0\0\0\r\n\r\n"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET  /\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked, x\r\n\r\nx",
        b"GET / HTTP/1.1\r\nx : 1\r\n\r\n",
        b"GET / HTTP/1.1\r\nx: \x00\r\n\r\n",
    ] {
        let answer = rest(&mut server.sent(bytes).await).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }
    assert!(rest(&mut server.sent(head("connection: close\r\n").as_bytes()).await).await.ends_with("hello"));
}

#[tokio::test]
async fn an_answer_that_nobody_reads_ends_its_connection() {
    // More than any buffer between two sockets.
    let large = Router::new().route("/", get(async || vec![0_u8; 64 * 1024 * 1024]));
    let front = Front { unread: SHORT, connections: 1, ..Front::default() };
    let server = Server::start(front, large).await;
    let _stuck = server.sent(head("").as_bytes()).await;
    // There is room for one only: this one is let in when the other was given up.
    let mut next = server.sent(head("").as_bytes()).await;
    let mut begin = [0; 15];
    timeout(NEVER, next.read_exact(&mut begin)).await.expect("it is served").unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200 OK");
}

#[tokio::test]
async fn more_connections_than_there_may_be_wait_and_are_all_served() {
    const ROOM: usize = 3;
    let (inside, most, three) = (AtomicUsize::new(0), AtomicUsize::new(0), Barrier::new(ROOM));
    let seen = Arc::new((inside, most, three));
    let counting = {
        let seen = Arc::clone(&seen);
        Router::new().route(
            "/",
            get(async move || {
                let (inside, most, three) = &*seen;
                most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                // As many as there is room for are here together, or nobody leaves.
                three.wait().await;
                inside.fetch_sub(1, Ordering::SeqCst);
                "hello"
            }),
        )
    };
    let server = Server::start(Front { connections: ROOM, ..Front::default() }, counting).await;
    let mut callers = Vec::new();
    for _ in 0..7 * ROOM {
        callers.push(server.sent(head("connection: close\r\n").as_bytes()).await);
    }
    for caller in &mut callers {
        assert!(rest(caller).await.ends_with("hello"));
    }
    assert_eq!(seen.1.load(Ordering::SeqCst), ROOM);
}

#[tokio::test]
async fn a_stop_lets_the_request_in_flight_end_and_idle_connections_go() {
    let gate = Arc::new(Barrier::new(2));
    let waiting = Arc::clone(&gate);
    let slow = Router::new().route("/", get(async || "hello")).route(
        "/slow",
        get(async move || {
            waiting.wait().await;
            waiting.wait().await;
            "slow"
        }),
    );
    let mut server = Server::start(Front::default(), slow).await;
    let mut idle = server.sent(head("").as_bytes()).await;
    let mut begin = [0; 15];
    idle.read_exact(&mut begin).await.unwrap();
    let mut busy = server.sent(b"GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    gate.wait().await;
    server.stop.cancel();
    assert!(rest(&mut idle).await.ends_with("hello"));
    gate.wait().await;
    assert!(rest(&mut busy).await.ends_with("slow"));
    timeout(NEVER, server.serving.join_next()).await.expect("it ends").unwrap().unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}
