//! A server that plays a provider for one call: it keeps the request and sends an answer in pieces of a given size.

use std::fmt::Write;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What is answered.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: &'static str,
    pub(super) body: Vec<u8>,
    /// Bytes between two borders of chunks.
    pub(super) chunk: usize,
    /// Whether the connection is kept open and silent after the body.
    pub(super) hangs: bool,
}

impl Answer {
    pub(super) fn stream(body: impl Into<Vec<u8>>, chunk: usize) -> Self {
        Self {
            status: 200,
            headers: "content-type: text/event-stream\r\n",
            body: body.into(),
            chunk,
            hangs: false,
        }
    }

    pub(super) fn refusal(status: u16, headers: &'static str, body: &str) -> Self {
        Self { status, headers, body: body.into(), chunk: usize::MAX, hangs: false }
    }
}

/// A provider.
pub(super) struct Provider {
    pub(super) url: String,
    requests: tokio::sync::mpsc::UnboundedReceiver<String>,
    _tasks: JoinSet<()>,
}

impl Provider {
    /// Answers each call with `answer`.
    pub(super) async fn with(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = tokio::sync::mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let Some(request) = read(&mut stream).await else { continue };
                sender.send(request).unwrap();
                send(&mut stream, &answer).await;
                if answer.hangs {
                    std::future::pending::<()>().await;
                }
            }
        });
        Self { url, requests, _tasks: tasks }
    }

    /// The request that came, as it is kept: without what differs from run to run.
    pub(super) async fn request(&mut self) -> String {
        let request = self.requests.recv().await.unwrap();
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let first = lines.next().unwrap();
        let mut headers: Vec<&str> =
            lines.filter(|line| !line.starts_with("host:") && !line.starts_with("content-length:")).collect();
        headers.sort_unstable();
        let mut kept = format!("{first}\n");
        for header in headers {
            writeln!(kept, "{header}").unwrap();
        }
        format!("{kept}\n{body}\n")
    }
}

async fn read(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.strip_prefix("content-length: "))?.parse::<usize>().ok()?;
            if body.len() >= length {
                return Some(text);
            }
        }
        match stream.read(&mut buffer).await.ok()? {
            0 => return None,
            size => bytes.extend_from_slice(&buffer[..size]),
        }
    }
}

async fn send(stream: &mut TcpStream, answer: &Answer) {
    let head = format!(
        "HTTP/1.1 {} X\r\n{}transfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        answer.status, answer.headers
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    for chunk in answer.body.chunks(answer.chunk) {
        // A client that has heard enough is gone.
        let framed = [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat();
        if stream.write_all(&framed).await.is_err() {
            return;
        }
    }
    if !answer.hangs {
        let _ = stream.write_all(b"0\r\n\r\n").await;
    }
}
