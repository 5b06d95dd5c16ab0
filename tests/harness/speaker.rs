//! A model on loopback, as far as chat completions in a stream: it says what a test decides.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::post;
use http::header;
use pudu_app::ports::Clock;
use pudu_lambda::clock::SystemClock;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What it answers.
#[derive(Debug, Clone, Default)]
pub struct Speech {
    /// How long it thinks before its first word.
    pub after: Duration,
    /// What it says.
    pub text: String,
    /// Which tools it calls, each with its arguments.
    pub calls: Vec<(String, Value)>,
}

impl Speech {
    /// Says that, at once.
    pub fn text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Calls a tool so often, at once.
    pub fn calls(name: &str, args: &Value, times: usize) -> Self {
        Self { calls: vec![(name.to_owned(), args.clone()); times], ..Self::default() }
    }
}

type Says = dyn Fn(&Value) -> Speech + Send + Sync;

struct Mind {
    says: Box<Says>,
    asked: watch::Sender<Vec<Value>>,
}

/// The service. Dropping it stops it.
pub struct Speaker {
    address: SocketAddr,
    mind: Arc<Mind>,
    _serving: JoinSet<()>,
}

impl Speaker {
    /// A model that answers a request's body so.
    pub async fn start(says: impl Fn(&Value) -> Speech + Send + Sync + 'static) -> Self {
        let mind = Arc::new(Mind { says: Box::new(says), asked: watch::Sender::default() });
        let router =
            Router::new().route("/v1/chat/completions", post(complete)).with_state(Arc::clone(&mind));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, mind, _serving: serving }
    }

    /// An entry of `models` that is spoken with here.
    pub fn entry(&self, name: &str) -> Value {
        let url = format!("http://{}/v1", self.address);
        json!({"name": name, "use": "langchain_openai:ChatOpenAI", "model": "speaker", "base_url": url, "api_key": "none"})
    }

    /// What it was asked, in order.
    pub fn asked(&self) -> Vec<Value> {
        self.mind.asked.borrow().clone()
    }

    /// Waits until it was asked so often.
    pub async fn when_asked(&self, times: usize) {
        self.mind.asked.subscribe().wait_for(|asked| asked.len() >= times).await.unwrap();
    }
}

async fn complete(State(mind): State<Arc<Mind>>, axum::Json(body): axum::Json<Value>) -> impl IntoResponse {
    // Decided before anybody hears that it was asked, who may change what it says next.
    let Speech { after, text, calls } = (mind.says)(&body);
    let mut number = 0;
    mind.asked.send_modify(|asked| {
        asked.push(body.clone());
        number = asked.len();
    });
    SystemClock.sleep(after).await;
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    let calls: Vec<Value> = calls
        .into_iter()
        .enumerate()
        .map(|(index, (name, args))| {
            let function = json!({"name": name, "arguments": args.to_string()});
            json!({"index": index, "id": format!("call-{number}-{index}"), "type": "function", "function": function})
        })
        .collect();
    let mut delta = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        delta["tool_calls"] = calls.into();
    }
    let choice =
        |delta: Value, finish: Option<&str>| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110});
    let mut lines: Vec<String> = [
        json!({"choices": choice(delta, None)}),
        json!({"choices": choice(json!({}), Some(finish))}),
        json!({"choices": [], "usage": usage}),
    ]
    .into_iter()
    .map(|mut chunk| {
        chunk["id"] = json!(format!("answer-{number}"));
        chunk["object"] = json!("chat.completion.chunk");
        chunk["model"] = json!("speaker");
        format!("data: {chunk}\n\n")
    })
    .collect();
    lines.push("data: [DONE]\n\n".to_owned());
    ([(header::CONTENT_TYPE, "text/event-stream")], lines.concat())
}
