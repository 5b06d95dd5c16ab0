//! A whole stack: every function as processes under a Runtime API, which invoke each other through the platform; the table behind
//! HTTP, a bucket, KMS, and a model. What the template wires is wired here the same way.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use acceptance::{
    ExampleServer, Function, ObjectStore, Offer, Platform, Speaker, Speech, Start, first_key, machine,
};
use pudu::engine::{Endpoint, Engine};
use pudu::workers::tick;
use pudu_app::ports::Clock;
use pudu_dynamo::schema;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_lambda::settings;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::kms::service::{FakeKms, KEY};

const TABLE: &str = "pudu-cloud";
const POLLER: &str = "the-poller";
const NOTIFIER: &str = "the-notifier";
const AGENT: &str = "the-agent";

/// It.
struct Stack {
    folder: TempDir,
    table: Endpoint,
    bucket: ObjectStore,
    platform: Platform,
    kms: String,
    more: Vec<(&'static str, String)>,
    gateway: Option<Function>,
    _kms: JoinSet<()>,
}

impl Stack {
    /// With the config that the operator imports, and more to tell the functions.
    async fn with(config: &Value, more: &[(&'static str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::in_memory().unwrap();
        schema::create_table(&engine.client(), TABLE, &SystemClock).await.unwrap();
        let admin = first_key(&engine.client(), TABLE).await;
        let table = engine.serve("127.0.0.1:0".parse().unwrap(), "test-key").await.unwrap();
        let (kms, serving) = FakeKms::default().serve().await;
        let platform = Platform::start(folder.path()).await;
        let bucket = ObjectStore::start().await;
        let more = more.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let mut stack = Self { folder, table, bucket, platform, kms, more, gateway: None, _kms: serving };
        let said = stack.import(config).await;
        assert!(said.contains("is now revision 1 in the table"), "{said}");
        for (name, package) in
            [(POLLER, "pudu-task-poller"), (NOTIFIER, "pudu-notifier"), (AGENT, "pudu-agent-function")]
        {
            stack.platform.offer(name, Offer { package, environment: stack.environment() });
        }
        let environment = stack.environment();
        let start = Start { package: "pudu-gateway", environment, folder: stack.folder.path() };
        let mut gateway = start.run().await;
        gateway.credential = Some(admin.expose().to_owned());
        stack.gateway = Some(gateway);
        stack
    }

    /// What the template tells each of them.
    fn environment(&self) -> Vec<(&'static str, String)> {
        let mut environment = self.table.environment().to_vec();
        environment.extend([
            (settings::TABLE, TABLE.to_owned()),
            (settings::SEAL_KMS_KEY, KEY.to_owned()),
            (settings::EGRESS_ALLOW, "127.0.0.0/8".to_owned()),
            (settings::POLL_INTERVAL_SECONDS, "1".to_owned()),
            (settings::POLLER_FUNCTION, POLLER.to_owned()),
            (settings::NOTIFIER_FUNCTION, NOTIFIER.to_owned()),
            (settings::AGENT_FUNCTION, AGENT.to_owned()),
            (settings::BLOB_BUCKET, self.bucket.bucket().to_owned()),
            ("AWS_ENDPOINT_URL_LAMBDA", self.platform.url()),
            ("AWS_ENDPOINT_URL_S3", self.bucket.url()),
            ("AWS_ENDPOINT_URL_KMS", self.kms.clone()),
        ]);
        environment.extend(self.more.clone());
        environment
    }

    /// `pudu config import --aws`, as the operator calls it; what it says.
    async fn import(&self, config: &Value) -> String {
        let file = self.folder.path().join("config.json");
        std::fs::write(&file, config.to_string()).unwrap();
        let mut command = Command::new(machine().await);
        command
            .args(["config", "import", "--aws", "--table", TABLE, "--seal-kms-key", KEY])
            .arg(&file)
            .env_clear()
            .envs(self.table.environment())
            .env("AWS_ENDPOINT_URL_KMS", &self.kms)
            .stdin(Stdio::null());
        let output = command.output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        assert!(output.status.success(), "{}", text(output.stderr));
        text(output.stdout)
    }

    async fn request(&mut self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let (status, answer) = self.gateway.as_mut().unwrap().request(method, path, body).await;
        assert_eq!(status, 200, "{method} {path}: {answer}");
        answer
    }

    /// What stands under that path when it is as it should come to be. A wake-up may be lost and a lease not be
    /// over, and the schedule makes good for both.
    async fn comes_to(&mut self, path: &str, done: impl Fn(&Value) -> bool) -> Value {
        let patience = SystemClock.now() + Duration::from_mins(2);
        while SystemClock.now() < patience {
            self.platform.settled().await;
            let seen = self.request("GET", path, None).await;
            if done(&seen) {
                return seen;
            }
            for name in [POLLER, NOTIFIER, AGENT] {
                self.platform.invoke(name, tick(name, &SystemClock, &OsRandom).payload);
            }
        }
        panic!("{path} does not come to its end: {:?}", self.platform.failed(AGENT));
    }

    /// Begins a run of thread `t`; its path.
    async fn begin(&mut self, text: &str) -> String {
        let body = json!({
            "assistant_id": "lead_agent",
            "input": {"messages": [{"role": "user", "content": text}]},
            "context": {"subagent_enabled": true},
        });
        let run = self.request("POST", "/api/threads/t/runs", Some(&body)).await;
        format!("/api/threads/t/runs/{}", run["run_id"].as_str().unwrap())
    }
}

/// Whether a tool is offered to a model.
fn has(body: &Value, tool: &str) -> bool {
    let tools = body["tools"].as_array();
    tools.is_some_and(|tools| tools.iter().any(|offered| offered["function"]["name"] == tool))
}

fn last(body: &Value) -> &Value {
    body["messages"].as_array().unwrap().last().unwrap()
}

/// A lead that delegates twice and submits a report, subagents that find something, and an agent that tells what a report brought.
fn says(body: &Value) -> Speech {
    let submit = "example_submit_report";
    match last(body)["role"].as_str().unwrap() {
        "user" if last(body).to_string().contains("go ahead") && has(body, "task") => {
            let task =
                json!({"description": "look", "prompt": "look around", "subagent_type": "general-purpose"});
            let mut speech = Speech::calls("task", &task, 2);
            speech.calls.push((submit.to_owned(), json!({"title": "Deer", "duration_seconds": 1})));
            speech
        }
        "user" if last(body).to_string().contains("look around") => Speech::text("found something"),
        "tool" => Speech::text("both are back"),
        _ => Speech::text("news of the report"),
    }
}

/// From a caller's request to the news of a durable task, through four functions, none of which waits for another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_with_subagents_and_a_durable_task_crosses_the_functions() {
    let folder = tempfile::tempdir().unwrap();
    let example = ExampleServer::start(folder.path(), Arc::new(SystemClock)).await;
    let speaker = Speaker::start(says).await;
    let toolset = json!({"name": "report", "submit_tool": "submit_report", "status_tool": "get_report_status", "cancel_tool": "cancel_report"});
    let server = json!({
        "type": "http", "url": example.url(), "headers": {"X-Secret": "canary-of-the-stack"}, "task_toolsets": [toolset],
    });
    let mut stack =
        Stack::with(&json!({"models": [speaker.entry("main")], "mcpServers": {"example": server}}), &[])
            .await;
    let run = stack.begin("go ahead").await;
    let ended = stack.comes_to(&run, |run| run["status"] != "running" && run["status"] != "pending").await;
    assert_eq!(ended["status"], "success", "{ended}\n{:?}", stack.platform.failed(AGENT));
    let is_there = |events: &Value| !events.as_array().unwrap().is_empty();
    stack.comes_to("/api/threads/t/events", is_there).await;
    let state = stack.request("GET", "/api/threads/t/state", None).await;
    let told = state["values"]["messages"].to_string();
    assert_eq!(told.matches("Task Succeeded. Result: found something").count(), 2, "{told}");
    assert!(told.contains("both are back") && told.contains("news of the report"), "{told}");
    let runs = stack.request("GET", "/api/threads/t/runs", None).await;
    let statuses: Vec<&Value> = runs.as_array().unwrap().iter().map(|run| &run["status"]).collect();
    assert_eq!(statuses, ["success", "success"], "the caller's, and the one that tells the event: {runs}");
    let events = stack.request("GET", "/api/threads/t/events", None).await;
    assert_eq!(events.as_array().unwrap().len(), 1, "{events}");

    // The lead, each subagent, the lead again, the news.
    assert!(stack.platform.invoked(AGENT) >= 5, "{}", stack.platform.invoked(AGENT));
    assert!(stack.platform.environments(AGENT) >= 2, "subagents have invocations of their own");
    for name in [AGENT, POLLER, NOTIFIER] {
        assert!(stack.platform.invoked(name) > 0, "{name}");
        assert_eq!(stack.platform.failed(name), Vec::<String>::new());
    }
    assert!(!stack.gateway.as_ref().unwrap().log().contains("canary-of-the-stack"));
}

/// A process that is killed in the middle of an answer costs that answer: another one goes on behind what stands.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_goes_on_when_its_process_was_killed() {
    let hangs = Arc::new(AtomicBool::new(true));
    let hanging = Arc::clone(&hangs);
    let speaker = Speaker::start(move |body| match last(body)["role"].as_str() {
        Some("user") => Speech::calls("write_nothing", &json!({}), 1),
        _ if hanging.load(Ordering::SeqCst) => Speech { after: Duration::from_mins(10), ..Speech::default() },
        _ => Speech::text("here I am again"),
    })
    .await;
    let mut stack = Stack::with(
        &json!({"models": [speaker.entry("main")], "mcpServers": {}}),
        &[(settings::LEASE_SECONDS, "5")],
    )
    .await;
    let run = stack.begin("hello").await;
    // The answer with the call stands, its tool was called, and the next answer never comes.
    let asked = tokio::time::timeout(Duration::from_mins(2), speaker.when_asked(2)).await;
    asked.expect("a model is asked once more behind the call");
    hangs.store(false, Ordering::SeqCst);
    assert_eq!(stack.platform.kill(AGENT), 1);
    stack.platform.settled().await;
    assert_eq!(stack.request("GET", &run, None).await["status"], "running");

    // Until the lease is over.
    let ended = stack.comes_to(&run, |run| run["status"] != "running").await;
    assert_eq!(ended["status"], "success", "{ended}");
    let asked: Vec<Value> =
        speaker.asked().into_iter().filter(|body| has(body, "ask_clarification")).collect();
    let behind = asked.iter().skip(1).all(|body| last(body)["role"] == "tool");
    assert!(asked.len() >= 3 && behind, "the first answer stands and is not asked for again: {asked:?}");
}
