//! A small Lambda service on loopback: it takes asynchronous invocations and keeps their events.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

#[derive(Default)]
struct Taken {
    events: Vec<(String, Value)>,
    down: bool,
}

/// The service. Dropping it stops it.
pub struct Invocations {
    address: SocketAddr,
    taken: Arc<Mutex<Taken>>,
    _serving: JoinSet<()>,
}

impl Invocations {
    /// A service that takes whatever comes.
    pub async fn start() -> Self {
        let taken = Arc::new(Mutex::new(Taken::default()));
        let path = "/2015-03-31/functions/{name}/invocations";
        let router = Router::new().route(path, post(invoke)).with_state(taken.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, taken, _serving: serving }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The events since the last look, each with its function.
    pub fn take(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.taken.lock().unwrap().events)
    }

    /// Whether it refuses from now on.
    pub fn down(&self, down: bool) {
        self.taken.lock().unwrap().down = down;
    }
}

/// As the service answers to `InvocationType: Event`: 202, nothing else, and nothing runs yet.
async fn invoke(
    State(taken): State<Arc<Mutex<Taken>>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let mut taken = taken.lock().unwrap();
    if taken.down || !is_event(&headers) {
        return StatusCode::INTERNAL_SERVER_ERROR;
    }
    taken.events.push((name, serde_json::from_slice(&body).unwrap()));
    StatusCode::ACCEPTED
}

/// Whether that is a signed request for an asynchronous invocation.
pub(crate) fn is_event(headers: &HeaderMap) -> bool {
    let kind = headers.get("x-amz-invocation-type").and_then(|kind| kind.to_str().ok());
    kind == Some("Event") && headers.contains_key("authorization")
}
