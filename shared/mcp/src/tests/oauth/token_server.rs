//! A token server in this process: counts, rotates, notices reuse, and fails when a test says so.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::tests::host::json_body;

pub(super) type Form = Vec<(String, String)>;

pub(super) struct TokenServer {
    pub(super) url: String,
    inner: Arc<Mutex<Inner>>,
    _tasks: JoinSet<()>,
}

#[derive(Default)]
struct Inner {
    arrived: usize,
    forms: Vec<Form>,
    authorizations: Vec<Option<String>>,
    /// The refresh token that is good now; none for a server that does not look.
    good: Option<String>,
    used: BTreeSet<String>,
    reused: usize,
    lifetime: u64,
    status: Option<StatusCode>,
    answer: Option<Value>,
    issuer: Option<String>,
    origin: String,
    gate: Option<Arc<Notify>>,
}

impl TokenServer {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let inner = Inner { lifetime: 3600, origin: origin.clone(), ..Inner::default() };
        let inner = Arc::new(Mutex::new(inner));
        let app = Router::new().fallback(respond).with_state(Arc::clone(&inner));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { axum::serve(listener, app).await.expect("serving") });
        Self { url: format!("{origin}/token"), inner, _tasks: tasks }
    }

    /// One that takes `first`, and after it only what it gave last.
    pub(super) async fn rotating(first: &str) -> Self {
        let server = Self::start().await;
        server.inner.lock().unwrap().good = Some(first.to_owned());
        server
    }

    pub(super) fn origin(&self) -> String {
        self.inner.lock().unwrap().origin.clone()
    }

    pub(super) fn issuer(&self, issuer: &str) {
        self.inner.lock().unwrap().issuer = Some(issuer.to_owned());
    }

    pub(super) fn lifetime(&self, seconds: u64) {
        self.inner.lock().unwrap().lifetime = seconds;
    }

    pub(super) fn fail(&self, status: StatusCode) {
        self.inner.lock().unwrap().status = Some(status);
    }

    pub(super) fn answer(&self, answer: Value) {
        self.inner.lock().unwrap().answer = Some(answer);
    }

    /// The next answers wait until this is notified.
    pub(super) fn hold(&self) -> Arc<Notify> {
        let gate = Arc::new(Notify::new());
        self.inner.lock().unwrap().gate = Some(Arc::clone(&gate));
        gate
    }

    /// Waits until so many token requests have come, answered or not.
    pub(super) async fn arrived(&self, count: usize) {
        while self.inner.lock().unwrap().arrived < count {
            tokio::task::yield_now().await;
        }
    }

    /// Token requests so far.
    pub(super) fn count(&self) -> usize {
        self.inner.lock().unwrap().forms.len()
    }

    /// The fields of each request, sorted.
    pub(super) fn forms(&self) -> Vec<Form> {
        self.inner.lock().unwrap().forms.clone()
    }

    pub(super) fn authorization(&self, request: usize) -> Option<String> {
        self.inner.lock().unwrap().authorizations[request].clone()
    }

    pub(super) fn presented(&self) -> Vec<String> {
        let of = |form: &Form| {
            form.iter().find(|(name, _)| name == "refresh_token").map(|(_, value)| value.clone())
        };
        self.forms().iter().filter_map(of).collect()
    }

    pub(super) fn reused(&self) -> usize {
        self.inner.lock().unwrap().reused
    }
}

async fn respond(
    State(inner): State<Arc<Mutex<Inner>>>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if method == Method::GET {
        let inner = inner.lock().unwrap();
        let issuer = inner.issuer.as_ref().unwrap_or(&inner.origin);
        let endpoint = format!("{}/token", inner.origin);
        return json_body(json!({"issuer": issuer, "token_endpoint": endpoint}).to_string());
    }
    let gate = {
        let mut inner = inner.lock().unwrap();
        inner.arrived += 1;
        inner.gate.clone()
    };
    if let Some(gate) = gate {
        gate.notified().await;
        inner.lock().unwrap().gate = None;
    }
    inner.lock().unwrap().token(&headers, &body)
}

impl Inner {
    fn token(&mut self, headers: &HeaderMap, body: &[u8]) -> Response {
        assert_eq!(headers["content-type"], "application/x-www-form-urlencoded");
        assert_eq!(headers["accept"], "application/json");
        let mut form: Form = url::form_urlencoded::parse(body).into_owned().collect();
        form.sort();
        let refresh = form.iter().find(|(name, _)| name == "refresh_token").map(|(_, value)| value.clone());
        self.forms.push(form);
        let authorization =
            headers.get("authorization").map(|value| value.to_str().expect("text").to_owned());
        self.authorizations.push(authorization);
        if let Some(status) = self.status {
            return (status, "canary of the token server").into_response();
        }
        if let Some(answer) = &self.answer {
            return json_body(answer.to_string());
        }
        let number = self.forms.len();
        let mut answer = json!({
            "access_token": format!("canary-access-{number}"), "token_type": "bearer", "expires_in": self.lifetime,
        });
        if let (Some(good), Some(refresh)) = (self.good.clone(), refresh) {
            if !self.used.insert(refresh.clone()) {
                self.reused += 1;
            }
            if refresh != good {
                let error = json!({"error": "invalid_grant", "error_description": "canary"});
                return (StatusCode::BAD_REQUEST, json_body(error.to_string())).into_response();
            }
            let next = format!("canary-refresh-{number}");
            answer["refresh_token"] = json!(next);
            self.good = Some(next);
        }
        json_body(answer.to_string())
    }
}
