//! A flood of everything at once on a real process: it serves on, and what the flood took is bounded.

use acceptance::Pudu;
use tokio::task::JoinSet;

use super::{head, rest, sent};

/// Most that the process may grow by, in KiB: what the largest bodies that are read at once take, parsed, and their answers.
const GROWTH: u64 = 160 * 1024;
const ROUNDS: usize = 20;

/// One caller of each kind, by number.
fn request(number: usize, key: &str) -> Vec<u8> {
    let mebibyte = "x".repeat(1024 * 1024);
    // Known, or nothing of a body would be read.
    let close = format!("connection: close\r\nauthorization: Bearer {key}\r\n");
    let put = |body: &str, fields: &str| head("PUT", "/api/mcp/config", &format!("{close}{fields}")) + body;
    match number % 8 {
        // Heads.
        0 => head("GET", "/healthz", &format!("x: {mebibyte}\r\n")),
        1 => head("GET", "/healthz", &"x: 1\r\n".repeat(100_000)),
        2 => format!("GET /{mebibyte} HTTP/1.1\r\nhost: localhost\r\n\r\n"),
        // Bodies.
        3 => put(&format!("\"{mebibyte}{mebibyte}\""), "content-length: 2097154\r\n"),
        4 => {
            let chunk = format!("{:x}\r\n{mebibyte}\r\n", mebibyte.len());
            put(&format!("{chunk}{chunk}{chunk}0\r\n\r\n"), "transfer-encoding: chunked\r\n")
        }
        5 => put(&"[".repeat(1024 * 1024), "content-length: 1048576\r\n"),
        // As many values as a body can have.
        6 => {
            let body = format!("[{}0]", "[],".repeat(349_000));
            put(&body, &format!("content-length: {}\r\n", body.len()))
        }
        // As many chunks.
        _ => put(&("1\r\n \r\n".repeat(200_000) + "0\r\n\r\n"), "transfer-encoding: chunked\r\n"),
    }
    .into_bytes()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_everything_takes_bounded_memory_and_the_server_serves_on() {
    let pudu = Pudu::start(&[], &[]).await;
    let key = pudu.key().expect("it asks for one").to_owned();
    let healthy = head("GET", "/healthz", "connection: close\r\n");
    let is_healthy =
        async || rest(&mut sent(pudu.address, healthy.as_bytes()).await).await.starts_with("HTTP/1.1 200 ");
    assert!(is_healthy().await);
    let before = pudu.resident();
    // These stay all the time: half of a head, half of a body.
    let mut slow = Vec::new();
    for number in 0..200 {
        let begun = if number % 2 == 0 {
            "GET /healthz HT".to_owned()
        } else {
            head("PUT", "/api/mcp/config", "content-length: 9\r\n")
        };
        slow.push(sent(pudu.address, begun.as_bytes()).await);
    }
    for _ in 0..ROUNDS {
        let mut calling = JoinSet::new();
        for number in 0..16 {
            let (to, key) = (pudu.address, key.clone());
            calling.spawn(async move {
                let answer = rest(&mut sent(to, &request(number, &key)).await).await;
                assert!(answer.starts_with("HTTP/1.1 4"), "{number}: {answer}");
            });
        }
        while let Some(called) = calling.join_next().await {
            called.unwrap();
        }
        assert!(is_healthy().await);
    }
    let most = pudu.most_resident();
    assert!(most < before + GROWTH, "{before} KiB before, at most {most} KiB");
    drop(slow);
    assert!(is_healthy().await);
}
