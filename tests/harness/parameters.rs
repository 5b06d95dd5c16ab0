//! A small SSM Parameter Store on loopback: `GetParameters` in its JSON protocol, with the refusals of the real one: more
//! than ten names, names that are given twice, and whatever a role with one prefix may not read.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const ACCOUNT: &str = "123456789012";

#[derive(Default)]
struct Shelf {
    role: String,
    values: BTreeMap<String, String>,
    asked: Vec<Vec<String>>,
    /// Refused by name, with this error class.
    refused: BTreeMap<String, &'static str>,
    /// So many requests are throttled from now on.
    throttled: usize,
    down: bool,
}

/// The service. Dropping it stops it.
pub struct ParameterStore {
    address: SocketAddr,
    shelf: Arc<Mutex<Shelf>>,
    _serving: JoinSet<()>,
}

type Answer = Result<Value, (StatusCode, &'static str)>;

impl ParameterStore {
    /// A service whose callers may read what is under `prefix`, and nothing else.
    pub async fn start(prefix: &str) -> Self {
        let shelf = Arc::new(Mutex::new(Shelf { role: format!("{prefix}/"), ..Shelf::default() }));
        let router = Router::new().route("/", post(handle)).with_state(shelf.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shelf, _serving: serving }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stores an encrypted value under its whole name.
    pub fn put(&self, name: &str, value: &str) {
        self.shelf.lock().unwrap().values.insert(name.to_owned(), value.to_owned());
    }

    /// Removes a parameter.
    pub fn remove(&self, name: &str) {
        self.shelf.lock().unwrap().values.remove(name);
    }

    /// The names of each request since the last look.
    pub fn asked(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut self.shelf.lock().unwrap().asked)
    }

    /// Refuses whoever asks for `name` (and others with it) with an error of that class.
    pub fn refuse(&self, name: &str, class: &'static str) {
        self.shelf.lock().unwrap().refused.insert(name.to_owned(), class);
    }

    /// Throttles so many requests from now on.
    pub fn throttle(&self, requests: usize) {
        self.shelf.lock().unwrap().throttled = requests;
    }

    /// Fails everything, or does so no more.
    pub fn down(&self, down: bool) {
        self.shelf.lock().unwrap().down = down;
    }
}

async fn handle(
    State(shelf): State<Arc<Mutex<Shelf>>>,
    headers: HeaderMap,
    body: String,
) -> impl IntoResponse {
    let operation = headers.get("x-amz-target").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let asked: Value = serde_json::from_str(&body).unwrap();
    let (status, body) = match shelf.lock().unwrap().answer(operation, &asked) {
        Ok(answer) => (StatusCode::OK, answer),
        // As in the real service, the words name the role and what was asked for.
        Err((status, class)) => {
            let role = format!("User: arn:aws:sts::{ACCOUNT}:assumed-role/pudu is not authorized");
            (status, json!({"__type": class, "message": role}))
        }
    };
    let media = [("content-type", "application/x-amz-json-1.1")];
    (status, media, body.to_string()).into_response() as Response
}

impl Shelf {
    fn answer(&mut self, operation: &str, asked: &Value) -> Answer {
        let invalid = (StatusCode::BAD_REQUEST, "ValidationException");
        if operation != "AmazonSSM.GetParameters" {
            return Err((StatusCode::BAD_REQUEST, "UnknownOperationException"));
        }
        let names = asked["Names"].as_array().ok_or(invalid)?;
        let names: Vec<String> = names.iter().map(|name| name.as_str().unwrap().to_owned()).collect();
        self.asked.push(names.clone());
        if self.down {
            return Err((StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError"));
        }
        if self.throttled > 0 {
            self.throttled -= 1;
            return Err((StatusCode::BAD_REQUEST, "ThrottlingException"));
        }
        let distinct: BTreeSet<&String> = names.iter().collect();
        if names.is_empty() || names.len() > 10 || distinct.len() != names.len() {
            return Err(invalid);
        }
        if names.iter().any(|name| !name.starts_with(&self.role)) {
            return Err((StatusCode::BAD_REQUEST, "AccessDeniedException"));
        }
        if let Some(class) = names.iter().find_map(|name| self.refused.get(name)) {
            return Err((StatusCode::BAD_REQUEST, class));
        }
        let open = asked["WithDecryption"] == true;
        let (found, missing): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| self.values.contains_key(name));
        let shown = |name: &String| {
            let value = if open { self.values[name].clone() } else { "AQICAHj-encrypted".to_owned() };
            json!({
                "ARN": format!("arn:aws:ssm:eu-central-1:{ACCOUNT}:parameter{name}"), "DataType": "text",
                "LastModifiedDate": 1_793_491_200.5, "Name": name, "Type": "SecureString", "Value": value, "Version": 1,
            })
        };
        Ok(json!({"InvalidParameters": missing, "Parameters": found.iter().map(shown).collect::<Vec<_>>()}))
    }
}
