//! A Lambda Runtime API for one process: hands it events, takes its answers, and freezes it in between.
//!
//! Not the crate `lambda-simulator`: it turns a second TLS provider on for the whole build. What is needed of the
//! protocol is four routes; the process under test speaks it with AWS's own client.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use http::StatusCode;
use pudu_app::ports::Clock;
use pudu_lambda::clock::SystemClock;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinSet;

/// Largest answer that the platform takes, in bytes.
const MAX_ANSWER: usize = 6 * 1024 * 1024;

/// What stands between the head and the body of an answer that is streamed.
const BREAK: [u8; 8] = [0; 8];

/// What a process made of an event.
pub(crate) enum Outcome {
    /// It answered.
    Answered(Value),
    /// It said that it failed: while it started, or with this event.
    Failed(Value),
}

/// A running Runtime API.
pub(crate) struct RuntimeApi {
    addr: SocketAddr,
    events: mpsc::Sender<Event>,
    outcomes: mpsc::Receiver<(String, Outcome)>,
    process: watch::Sender<Option<u32>>,
    next_id: u32,
    _serving: JoinSet<()>,
}

struct Event {
    id: String,
    timeout: Duration,
    payload: Value,
}

struct Shared {
    events: Mutex<mpsc::Receiver<Event>>,
    outcomes: mpsc::Sender<(String, Outcome)>,
    process: watch::Receiver<Option<u32>>,
}

impl RuntimeApi {
    pub(crate) async fn start() -> Self {
        let (events, received) = mpsc::channel(1);
        let (told, outcomes) = mpsc::channel(4);
        let (process, seen) = watch::channel(None);
        let shared = Shared { events: Mutex::new(received), outcomes: told, process: seen };
        let router = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(answered))
            .route("/2018-06-01/runtime/invocation/{id}/error", post(failed))
            .route("/2018-06-01/runtime/init/error", post(init_failed))
            .with_state(Arc::new(shared));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { addr, events, outcomes, process, next_id: 0, _serving: serving }
    }

    /// The value of `AWS_LAMBDA_RUNTIME_API`.
    pub(crate) fn address(&self) -> String {
        self.addr.to_string()
    }

    /// Which process asks for events.
    pub(crate) fn attach(&self, process: u32) {
        self.process.send_replace(Some(process));
    }

    /// Hands over an event and waits for what becomes of it; none when the process takes longer than `timeout`.
    pub(crate) async fn invoke(&mut self, payload: Value, timeout: Duration) -> Option<Outcome> {
        self.next_id += 1;
        let id = format!("request-{}", self.next_id);
        self.events.send(Event { id: id.clone(), timeout, payload }).await.unwrap();
        let (answered, outcome) = tokio::time::timeout(timeout, self.outcomes.recv()).await.ok()??;
        assert!(answered == id || answered == "init", "{answered} was answered instead of {id}");
        Some(outcome)
    }
}

/// The long poll. A process that waits here runs no more until there is an event, as on the platform: what it left to do
/// after its answer is not done.
async fn next(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let process = shared.process.clone().wait_for(Option::is_some).await.unwrap().unwrap();
    let mut events = shared.events.lock().await;
    signal("STOP", process).await;
    until_stopped(process).await;
    let Some(event) = events.recv().await else {
        // The test is over; the process is about to be killed.
        return std::future::pending().await;
    };
    signal("CONT", process).await;
    let deadline = (SystemClock.now() + event.timeout).as_millis();
    let headers = [
        ("lambda-runtime-aws-request-id", event.id.clone()),
        ("lambda-runtime-deadline-ms", deadline.to_string()),
        (
            "lambda-runtime-invoked-function-arn",
            "arn:aws:lambda:local:000000000000:function:under-test".to_owned(),
        ),
        ("lambda-runtime-trace-id", "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=0".to_owned()),
        ("content-type", "application/json".to_owned()),
    ];
    (headers, event.payload.to_string())
}

async fn answered(State(shared): State<Arc<Shared>>, Path(id): Path<String>, body: Bytes) -> StatusCode {
    if body.len() > MAX_ANSWER {
        return StatusCode::PAYLOAD_TOO_LARGE;
    }
    tell(&shared, id, Outcome::Answered(read(&body))).await
}

/// An answer. One that was streamed is the head, as JSON, then [`BREAK`], then the body: it is given back as if it had come whole.
fn read(answer: &[u8]) -> Value {
    let Some(at) = answer.windows(BREAK.len()).position(|bytes| bytes == BREAK) else {
        return serde_json::from_slice(answer).unwrap();
    };
    let (head, body) = answer.split_at(at);
    let mut read: Value = serde_json::from_slice(head).unwrap();
    read["body"] = String::from_utf8(body[BREAK.len()..].to_vec()).unwrap().into();
    read["streamed"] = true.into();
    read
}

async fn failed(State(shared): State<Arc<Shared>>, Path(id): Path<String>, body: Bytes) -> StatusCode {
    tell(&shared, id, Outcome::Failed(serde_json::from_slice(&body).unwrap_or_default())).await
}

async fn init_failed(State(shared): State<Arc<Shared>>, body: Bytes) -> StatusCode {
    let outcome = Outcome::Failed(serde_json::from_slice(&body).unwrap_or_default());
    tell(&shared, "init".to_owned(), outcome).await
}

async fn tell(shared: &Shared, id: String, outcome: Outcome) -> StatusCode {
    shared.outcomes.send((id, outcome)).await.unwrap();
    StatusCode::ACCEPTED
}

/// By the shell's own `kill`: a crate for two signals would be one more, and the system call itself is unsafe code.
async fn signal(name: &str, process: u32) {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("kill -{name} {process}")]).stdin(Stdio::null()).stderr(Stdio::null());
    // It fails when the process has just ended, which the invocation sees by itself.
    let _ = command.status().await;
}

/// A process stops when its threads see the signal, a moment after it was sent.
async fn until_stopped(process: u32) {
    let stat = format!("/proc/{process}/stat");
    loop {
        // The state stands behind the name, which is in parentheses. A process that is gone is as quiet.
        match std::fs::read_to_string(&stat) {
            Ok(text) if !text.rsplit(')').next().unwrap_or_default().trim_start().starts_with('T') => {
                tokio::task::yield_now().await;
            }
            _ => return,
        }
    }
}
