//! The example server over loopback, with a clock that the test moves.

mod bounds;
mod story;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use pudu_app::ports::{Clock, Random};
use pudu_domain::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Example, PATH};

/// Milliseconds, set by hand.
struct Hands(AtomicU64);

#[async_trait]
impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }

    /// Waiting takes no time of the test's, and moves the hands: a server that waited unasked would be seen by them.
    async fn sleep(&self, duration: Duration) {
        self.0.fetch_add(u64::try_from(duration.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

/// Counts, so that ids are distinct and known.
#[derive(Default)]
struct Counting(AtomicU64);

impl Random for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        let number = self.0.fetch_add(1, Ordering::SeqCst).to_be_bytes();
        bytes.fill(0);
        let tail = bytes.len() - number.len();
        bytes[tail..].copy_from_slice(&number);
    }
}

/// One served example and the means to move its time and to end its process.
struct World {
    example: Example,
    clock: Arc<Hands>,
    random: Arc<Counting>,
    folder: TempDir,
    url: String,
    http: reqwest::Client,
    stop: CancellationToken,
    serving: JoinSet<()>,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(Hands(AtomicU64::new(1_000_000)));
        let random = Arc::new(Counting::default());
        Self::open(folder, clock, random).await
    }

    async fn open(folder: TempDir, clock: Arc<Hands>, random: Arc<Counting>) -> Self {
        let example =
            Example::open(&folder.path().join("example.jsonl"), clock.clone(), random.clone()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}{PATH}", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        let mut serving = JoinSet::new();
        let (served, stopped) = (example.clone(), stop.clone().cancelled_owned());
        serving.spawn(async move { served.serve(listener, stopped).await.unwrap() });
        Self { example, clock, random, folder, url, http: reqwest::Client::new(), stop, serving }
    }

    /// Ends the server and starts another on the same state file.
    async fn restart(mut self) -> Self {
        self.stop.cancel();
        self.serving.join_next().await.unwrap().unwrap();
        Self::open(self.folder, self.clock, self.random).await
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("example.jsonl")
    }

    fn advance(&self, seconds: f64) {
        let millis = u64::try_from(Duration::from_secs_f64(seconds).as_millis()).unwrap();
        self.clock.0.fetch_add(millis, Ordering::SeqCst);
    }

    /// A `tools/call` in one POST of protocol 2026-07-28; returns the JSON-RPC answer.
    async fn post(&self, tool: &str, arguments: Value) -> Value {
        let response = wire::one_post(&self.http, &self.url, tool, &arguments).send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.json().await.unwrap()
    }

    /// The `structuredContent` of a call that succeeds, checked against the tool's own output schema.
    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.post(tool, arguments).await;
        let result = &answer["result"];
        assert_eq!(result["isError"], json!(false), "{answer}");
        let content = result["structuredContent"].clone();
        let declared = self.example.shared.tools.get(tool).unwrap().output_schema.clone().unwrap();
        let schema = Value::Object(declared.as_ref().clone());
        if let Err(error) = jsonschema::validate(&schema, &content) {
            panic!("{content} is not what {tool} declares: {error}");
        }
        content
    }

    /// The text of a call that is refused as a tool error.
    async fn refused(&self, tool: &str, arguments: Value) -> String {
        let answer = self.post(tool, arguments).await;
        assert_eq!(answer["result"]["isError"], json!(true), "{answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    async fn submit(&self, arguments: Value) -> String {
        let answer = self.call("submit_report", arguments).await;
        assert_eq!(answer["status"], "running");
        answer["task_id"].as_str().unwrap().to_owned()
    }

    async fn status(&self, id: &str) -> Value {
        self.call("get_report_status", json!({ "task_id": id })).await
    }

    async fn cancel(&self, id: &str) -> Value {
        self.call("cancel_report", json!({ "task_id": id })).await
    }
}
