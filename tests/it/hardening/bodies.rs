//! Bodies: slow, long, and deep.

use std::sync::Arc;
use std::time::Duration;

use acceptance::World;
use axum::body::Body;
use http::{Method, Request, header};
use pudu::engine::Engine;
use pudu::house::{House, Plan};
use pudu::machine::{Machine, listen_anywhere};
use pudu_gateway::Patience;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{NEVER, head, rest, sent};

const CONFIG: &str = "/api/mcp/config";
const MIB: usize = 1024 * 1024;
const SHORT: Duration = Duration::from_millis(50);

/// A machine without servers, whose callers get so much time and show no key.
async fn machine(patience: Patience) -> (TempDir, Machine) {
    machine_that(patience, true).await
}

async fn machine_that(patience: Patience, no_auth: bool) -> (TempDir, Machine) {
    let folder = tempfile::tempdir().unwrap();
    let client = Engine::in_memory().unwrap().client();
    let plan = Plan::new(client, "pudu".to_owned(), folder.path().join("seal.key"));
    let house = House::new(Plan { patience, no_auth, ..plan }).unwrap();
    house.create_table().await.unwrap();
    (folder, Machine::start(Arc::new(house), listen_anywhere().await.unwrap()).unwrap())
}

fn empty() -> &'static str {
    r#"{"mcp_servers":{}}"#
}

#[tokio::test]
async fn a_body_that_does_not_come_is_408_and_says_so() {
    let (_folder, machine) = machine(Patience { piece: SHORT, whole: Duration::from_secs(60) }).await;
    for (fields, begun) in [
        ("content-length: 18\r\n", ""),
        ("content-length: 18\r\n", r#"{"mcp_ser"#),
        ("transfer-encoding: chunked\r\n", ""),
        ("transfer-encoding: chunked\r\n", "12\r\n{"),
    ] {
        let request = head("PUT", CONFIG, fields) + begun;
        let answer = rest(&mut sent(machine.gateway, request.as_bytes()).await).await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        assert!(answer.contains(r#"{"detail":"the body came too slowly"#), "{answer}");
    }
    machine.stop().await;
}

#[tokio::test]
async fn a_body_that_drips_is_408_as_a_whole() {
    let (_folder, machine) = machine(Patience { piece: Duration::from_secs(60), whole: SHORT }).await;
    let request = head("PUT", CONFIG, "content-length: 1000000\r\n");
    let (mut reading, mut writing) = sent(machine.gateway, request.as_bytes()).await.into_split();
    // A byte at a time, a million take longer than their time.
    let dripping = async {
        while writing.write_all(b" ").await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let mut answer = String::new();
    let reading = async { timeout(NEVER, reading.read_to_string(&mut answer)).await.expect("it ends") };
    let _ = tokio::join!(dripping, reading);
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    machine.stop().await;
}

#[tokio::test]
async fn many_slow_callers_hold_up_nobody_else() {
    let (_folder, machine) = machine(Patience::default()).await;
    let mut slow = Vec::new();
    for _ in 0..300 {
        slow.push(
            sent(machine.gateway, (head("PUT", CONFIG, "content-length: 18\r\n") + "{").as_bytes()).await,
        );
    }
    for _ in 0..20 {
        let fields = format!("connection: close\r\ncontent-length: {}\r\n", empty().len());
        let request = head("PUT", CONFIG, &fields) + empty();
        let answer = rest(&mut sent(machine.gateway, request.as_bytes()).await).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    // The slow ones still have their time: they need not hurry because of it.
    let mut first = slow.swap_remove(0);
    first.write_all(&empty().as_bytes()[1..]).await.unwrap();
    let mut begin = [0; 12];
    first.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    machine.stop().await;
}

#[tokio::test]
async fn who_is_refused_is_refused_before_the_body() {
    let (_folder, machine) = machine(Patience::default()).await;
    for (request, status) in [
        (head("PUT", "/api/nothing", "content-length: 18\r\n"), 404),
        (head("DELETE", CONFIG, "content-length: 18\r\n"), 405),
        (head("PUT", CONFIG, "content-length: 18\r\norigin: http://evil.example\r\n"), 403),
        (head("PUT", "/operator/config", "content-length: 18\r\n"), 401),
        (head("PUT", CONFIG, "content-length: 1048577\r\n"), 413),
        (head("PUT", CONFIG, "content-length: 99999999999999999999\r\n"), 400),
    ] {
        let request = request.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
        let answer = rest(&mut sent(machine.gateway, request.as_bytes()).await).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
    machine.stop().await;
    let (_folder, machine) = machine_that(Patience::default(), false).await;
    let request = head("PUT", CONFIG, "content-length: 18\r\nconnection: close\r\n");
    let answer = rest(&mut sent(machine.gateway, request.as_bytes()).await).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    machine.stop().await;
}

#[tokio::test]
async fn a_body_over_a_mebibyte_is_413_with_its_length_and_in_chunks() {
    let (_folder, machine) = machine(Patience::default()).await;
    let spaces = " ".repeat(MIB - empty().len());
    for (more, status) in [("", 200), (" ", 413)] {
        let body = format!("{spaces}{more}{}", empty());
        let whole = format!("connection: close\r\ncontent-length: {}\r\n", body.len());
        let whole = head("PUT", CONFIG, &whole) + &body;
        let chunked = head("PUT", CONFIG, "connection: close\r\ntransfer-encoding: chunked\r\n");
        let pieces = body.as_bytes().chunks(60_000);
        let pieces =
            pieces.map(|piece| format!("{:x}\r\n{}\r\n", piece.len(), String::from_utf8_lossy(piece)));
        let chunked = chunked + &pieces.collect::<Vec<_>>().concat() + "0\r\n\r\n";
        for request in [whole, chunked] {
            let answer = rest(&mut sent(machine.gateway, request.as_bytes()).await).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        }
    }
    machine.stop().await;
}

/// `levels` of arrays.
fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

#[tokio::test]
async fn json_is_read_down_to_level_64_on_every_route_that_has_a_body() {
    let world = World::new().await;
    let call = |levels| format!(r#"{{"arguments":{{"text":{}}}}}"#, nested(levels));
    let config = |levels| format!(r#"{{"mcp_servers":{{}},"x":{}}}"#, nested(levels));
    let message = |levels| {
        let arguments = format!(r#"{{"text":{}}}"#, nested(levels));
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"example_echo","arguments":{arguments}}}}}"#
        )
    };
    for (path, method, body, outer) in [
        ("/api/threads/t1/tools/example_echo", Method::POST, &call as &dyn Fn(usize) -> String, 2),
        (CONFIG, Method::PUT, &config, 1),
        ("/mcp", Method::POST, &message, 3),
    ] {
        for levels in [64 - outer, 65 - outer, 100_000] {
            let request = Request::builder()
                .method(&method)
                .uri(path)
                .header(header::HOST, "localhost")
                .header(header::CONTENT_TYPE, "application/json")
                .header(header::CONTENT_LENGTH, body(levels).len())
                .body(Body::from(body(levels)))
                .unwrap();
            let answer = acceptance::send(&world.gateway, request).await;
            let deep = answer.text.contains("more than 64 objects and arrays in each other");
            assert_eq!(deep, levels + outer > 64, "{path}, {levels}: {}", answer.text);
            assert!(!deep || answer.status == 400, "{path}, {levels}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn a_hundred_large_bodies_at_once_are_served_or_refused() {
    let (_folder, machine) = machine(Patience::default()).await;
    let mut calling = JoinSet::new();
    for number in 0..100_usize {
        let (to, more) = (machine.gateway, number % 2);
        calling.spawn(async move {
            let body = " ".repeat(MIB - empty().len() + more) + empty();
            let fields = format!("connection: close\r\ncontent-length: {}\r\n", body.len());
            let answer = rest(&mut sent(to, (head("PUT", CONFIG, &fields) + &body).as_bytes()).await).await;
            // Two who change the same config at once may be told to try again.
            let expected = if more == 0 { ["200", "409"] } else { ["413", "413"] };
            assert!(
                expected.iter().any(|status| answer.starts_with(&format!("HTTP/1.1 {status} "))),
                "{answer}"
            );
        });
    }
    while let Some(called) = calling.join_next().await {
        called.unwrap();
    }
    machine.stop().await;
}
