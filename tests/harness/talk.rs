//! Threads and runs behind the gateway, over a fake table, with a runner in verbs: it does what a test says, by the domain's
//! own decisions, and calls no model.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{HeaderValue, Method};
use http_body_util::BodyExt;
use pudu_app::ports::{Applied, Clock};
use pudu_app::runs::Runs;
use pudu_config::Document;
use pudu_domain::chat::{Message, Speaker, ToolCall, ToolStatus};
use pudu_domain::run::{Body as Stored, Command, Ending, Notice, Outcome, Seen, Step, decide};
use pudu_domain::state::{State, Write};
use pudu_domain::{Lease, Policy, Principal, Run, RunId, RunKey};
use pudu_gateway::{Access, Door, Gateway, Streams};
use pudu_testkit::gate::Open;
use pudu_testkit::server::Plan;
use pudu_testkit::{FakeServer, FakeTable, Gate, Trace, VirtualClock, fixture};
use serde_json::{Map, Value, json};
use tower::ServiceExt;

use crate::answer::{Answer, request, send};
use crate::ports::wired;

/// A gateway with runs.
pub struct Talk {
    /// The time, which only waiting lets pass.
    pub clock: VirtualClock,
    /// The use cases.
    pub runs: Runs,
    /// The door.
    pub gateway: Router,
    inner: Gateway,
}

/// An open stream.
pub struct Listener {
    /// What came before its body.
    pub headers: http::HeaderMap,
    body: Body,
    text: String,
}

impl Talk {
    /// Of the user `local:default`.
    pub fn new() -> Self {
        let clock = VirtualClock::start();
        let (table, gate) = (FakeTable::new(), Gate::new("it", Arc::new(clock), Trace::hashed(), Open));
        let server = FakeServer::new(Arc::new(clock), |_| Plan::completes_after(Duration::from_secs(1)));
        let wiring = wired(clock, &table, &server, &gate);
        let store = Arc::new(table.store(Arc::new(clock), gate));
        let runs = wiring.runs();
        let everyone = Access::Everyone(fixture::principal());
        let inner = Gateway::new(&wiring, store.clone(), store.clone(), store, Door::Anywhere, everyone);
        Self { clock, runs, gateway: pudu_gateway::router(inner.clone()), inner }
    }

    /// The same threads through another door.
    pub fn seen_by(&self, who: Principal) -> Router {
        pudu_gateway::router(Gateway { access: Access::Everyone(who), ..self.inner.clone() })
    }

    /// The same through a door whose streams last so long.
    pub fn with_streams(&self, streams: Streams) -> Router {
        pudu_gateway::router(Gateway { streams, ..self.inner.clone() })
    }

    /// Stores a first config.
    pub async fn seed(&self, config: Value) {
        let document = Document::parse(config).unwrap();
        assert!(self.inner.configs.seed(document).await.unwrap(), "there was a config already");
    }

    /// A request.
    pub async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        send(&self.gateway, request(method, path, body)).await
    }

    /// What a GET brings.
    pub async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, None).await.expect(200)
    }

    /// What a POST brings.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(Method::POST, path, Some(&body)).await
    }

    /// Begins a run in thread `t` and returns its id.
    pub async fn begin(&self, body: Value) -> String {
        // Ids of one moment are in no order.
        self.clock.sleep(Duration::from_millis(1)).await;
        let run = self.post("/api/threads/t/runs", body).await.expect(200);
        run["run_id"].as_str().unwrap().to_owned()
    }

    /// The address of a run of thread `t`.
    pub fn key(run: &str) -> RunKey {
        RunKey { thread: fixture::thread("t"), id: RunId::parse(run).unwrap() }
    }

    /// A run's row.
    pub async fn row(&self, run: &str) -> Run {
        self.runs.store.load(&Self::key(run)).await.unwrap().unwrap()
    }

    /// Takes a run.
    pub async fn claim(&self, run: &str) -> Option<Run> {
        let lease = Lease {
            until: self.clock.now() + Duration::from_secs(60),
            ..fixture::lease("w", self.clock.now())
        };
        self.runs.store.claim(&Self::key(run), lease).await.unwrap()
    }

    /// Commits something for the holder of a run.
    pub async fn commit(&self, run: &str, command: Command) -> Applied {
        let row = self.row(run).await;
        let thread = fixture::thread("t");
        let conversation = self.runs.store.conversation(&thread).await.unwrap();
        let next = conversation.as_ref().and_then(|read| read.queue.first()).cloned();
        let next = match next {
            Some(id) => self.runs.store.load(&RunKey { thread, id }).await.unwrap(),
            None => None,
        };
        let seen = Seen { conversation: conversation.as_ref(), next: next.as_ref(), ..Seen::default() };
        let change = decide(&row, command, &seen, self.clock.now(), &Policy::default()).unwrap();
        self.runs.store.commit(&change).await.unwrap()
    }

    /// Does the first step of a run: what its caller said is its state.
    pub async fn take(&self, run: &str) {
        assert!(self.claim(run).await.is_some());
        let spec = self.runs.store.spec(&Self::key(run)).await.unwrap().unwrap();
        let before = self.runs.state(&fixture::thread("t"), None).await.unwrap().unwrap();
        let mut state: State = before.state;
        for message in spec.input {
            state.apply(Write::message(message)).unwrap();
        }
        let step = Step {
            body: Some(Stored::Snapshot(Box::new(state))),
            notices: vec![record("run.start", "trace"), Notice::Values { number: 0, behind: None }],
            ..Step::default()
        };
        self.advance(run, step).await;
    }

    /// Does another: a model says something.
    pub async fn say(&self, run: &str, text: &str) {
        let number = self.row(run).await.checkpoints;
        let message = Message::new(Speaker::Ai, format!("{run}-ai-{number}"), text);
        let chunk = json!([{ "type": "AIMessageChunk", "content": text }, { "langgraph_node": "model" }]);
        let step = Step {
            body: Some(Stored::Delta(vec![
                Write::message(message),
                Write::Counters { name: "loop".into(), value: json!(number) },
            ])),
            notices: vec![
                Notice::Frame { event: "messages".into(), data: chunk },
                Notice::Frame { event: "custom".into(), data: json!({ "type": "progress" }) },
                record("llm.ai.response", "message"),
                Notice::Values { number, behind: number.checked_sub(1) },
            ],
            ..Step::default()
        };
        self.advance(run, step).await;
    }

    /// Does one in which the agent asks its user something.
    pub async fn ask(&self, run: &str, question: &str) {
        let asked = json!({ "human_input": { "kind": "human_input_request", "request_id": question } });
        let call = ToolCall::new(question, "ask_clarification", Map::new());
        let said = Message { tool_calls: vec![call.clone()], ..Message::new(Speaker::Ai, "asks", "") };
        let asked = Message { artifact: Some(asked), ..Message::tool(&call, ToolStatus::Success, "Which?") };
        let body = Some(Stored::Delta(vec![Write::message(said), Write::message(asked)]));
        self.advance(run, Step { body, ..Step::default() }).await;
    }

    async fn advance(&self, run: &str, step: Step) {
        let lease = self.clock.now() + Duration::from_secs(60);
        assert_eq!(self.commit(run, Command::Advance { step, lease }).await, Applied::Done);
    }

    /// Ends it.
    pub async fn end(&self, run: &str, outcome: Outcome, error: Option<&str>) {
        let ending = Ending::new(outcome, error);
        assert_eq!(self.commit(run, Command::Finish { step: Step::default(), ending }).await, Applied::Done);
    }

    /// A whole run: one answer.
    pub async fn lived(&self, body: Value, answer: &str) -> String {
        let run = self.begin(body).await;
        self.take(&run).await;
        self.say(&run, answer).await;
        self.end(&run, Outcome::Success, None).await;
        run
    }

    /// Opens a stream.
    pub async fn listen(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        last: Option<&str>,
    ) -> Listener {
        let mut asking = request(method, path, body);
        if let Some(last) = last {
            asking.headers_mut().insert("last-event-id", HeaderValue::from_str(last).unwrap());
        }
        Listener::of(&self.gateway, asking).await
    }
}

impl Default for Talk {
    fn default() -> Self {
        Self::new()
    }
}

impl Listener {
    /// The stream that a request is answered with.
    pub async fn of(gateway: &Router, asking: http::Request<Body>) -> Self {
        let Ok(response) = gateway.clone().oneshot(asking).await;
        assert_eq!(response.status().as_u16(), 200, "{response:?}");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { headers: response.headers().clone(), body: response.into_body(), text: String::new() }
    }

    /// The next frame, as it was sent, without the empty line behind it; none when the stream has ended.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(frame);
            }
            let frame = self.body.frame().await?.unwrap();
            self.text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    }

    /// The next frame that is no sign of life: its event, its data, its id.
    pub async fn heard(&mut self) -> Option<(String, Value, Option<String>)> {
        loop {
            let frame = self.next().await?;
            if !frame.starts_with(':') {
                return Some(read(&frame));
            }
        }
    }

    /// The events up to the end of the stream.
    pub async fn events(&mut self) -> Vec<String> {
        let mut events = Vec::new();
        while let Some((event, ..)) = self.heard().await {
            events.push(event);
        }
        events
    }
}

fn read(frame: &str) -> (String, Value, Option<String>) {
    let mut lines = frame.lines();
    let event = lines.next().unwrap().strip_prefix("event: ").unwrap().to_owned();
    let data = lines.next().unwrap().strip_prefix("data: ").unwrap();
    let id = lines.next().map(|line| line.strip_prefix("id: ").unwrap().to_owned());
    assert_eq!(lines.next(), None, "{frame}");
    (event, serde_json::from_str(data).unwrap(), id)
}

fn record(event_type: &str, category: &str) -> Notice {
    Notice::Record {
        event_type: event_type.into(),
        category: category.into(),
        content: json!({ "said": event_type }),
        metadata: json!({}),
    }
}
