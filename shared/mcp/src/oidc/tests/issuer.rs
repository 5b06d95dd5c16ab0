//! An issuer on loopback: publishes what a test says, counts what it was asked, and signs.

use std::sync::{Arc, Mutex};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
};
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::tests::host::json_body;

const RSA: &str = include_str!("../../credentials/oauth/assertion/rsa.pem");

/// A pair of keys.
pub(super) struct Signer {
    pub(super) id: &'static str,
    pub(super) algorithm: Algorithm,
    key: EncodingKey,
}

impl Signer {
    /// Made now, but for RSA, which takes a second to make.
    pub(super) fn new(id: &'static str, algorithm: Algorithm) -> Self {
        let random = SystemRandom::new();
        let ec =
            |kind| EncodingKey::from_ec_der(EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap().as_ref());
        let key = match algorithm {
            Algorithm::ES256 => ec(&ECDSA_P256_SHA256_FIXED_SIGNING),
            Algorithm::ES384 => ec(&ECDSA_P384_SHA384_FIXED_SIGNING),
            Algorithm::EdDSA => {
                // The library reads the older form, without the public half.
                let pair = Ed25519KeyPair::generate_pkcs8v1(&random).unwrap();
                EncodingKey::from_ed_der(pair.as_ref())
            }
            _ => EncodingKey::from_rsa_pem(RSA.as_bytes()).unwrap(),
        };
        Self { id, algorithm, key }
    }

    /// The public half, as it is published.
    pub(super) fn public(&self) -> Value {
        let mut key =
            serde_json::to_value(Jwk::from_encoding_key(&self.key, self.algorithm).unwrap()).unwrap();
        key["kid"] = json!(self.id);
        key["use"] = json!("sig");
        key
    }

    pub(super) fn header(&self) -> Header {
        Header { kid: Some(self.id.to_owned()), ..Header::new(self.algorithm) }
    }

    pub(super) fn sign(&self, claims: &Value) -> String {
        self.sign_as(&self.header(), claims)
    }

    pub(super) fn sign_as(&self, header: &Header, claims: &Value) -> String {
        encode(header, claims, &self.key).unwrap()
    }
}

/// What it answers.
pub(super) struct Says {
    pub(super) keys: Value,
    pub(super) discovery: Value,
    pub(super) status: StatusCode,
    asked: Vec<String>,
    gate: Option<Arc<Semaphore>>,
}

/// A running issuer; it ends when dropped.
pub(super) struct Issuer {
    pub(super) url: String,
    says: Arc<Mutex<Says>>,
    _tasks: JoinSet<()>,
}

impl Issuer {
    pub(super) async fn publishing(signers: &[&Signer]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let discovery = json!({"issuer": url, "jwks_uri": format!("{url}/keys")});
        let status = StatusCode::OK;
        let says = Says { keys: Value::Null, discovery, status, asked: Vec::new(), gate: None };
        let says = Arc::new(Mutex::new(says));
        let app = Router::new().fallback(answer).with_state(Arc::clone(&says));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { axum::serve(listener, app).await.unwrap() });
        let issuer = Self { url, says, _tasks: tasks };
        issuer.publish(signers);
        issuer
    }

    pub(super) fn publish(&self, signers: &[&Signer]) {
        let keys: Vec<Value> = signers.iter().map(|signer| signer.public()).collect();
        self.change(|says| says.keys = json!({ "keys": keys }));
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Says)) {
        change(&mut self.says.lock().unwrap());
    }

    /// From now on nothing is answered before a permit is added.
    pub(super) fn hold(&self) -> Arc<Semaphore> {
        let gate = Arc::new(Semaphore::new(0));
        self.change(|says| says.gate = Some(Arc::clone(&gate)));
        gate
    }

    /// The paths that were asked for.
    pub(super) fn asked(&self) -> Vec<String> {
        self.says.lock().unwrap().asked.clone()
    }

    /// How often the keys were asked for.
    pub(super) fn count(&self) -> usize {
        self.asked().iter().filter(|path| *path == "/keys").count()
    }
}

async fn answer(State(says): State<Arc<Mutex<Says>>>, uri: Uri) -> Response {
    let gate = {
        let mut says = says.lock().unwrap();
        says.asked.push(uri.path().to_owned());
        says.gate.clone()
    };
    if let Some(gate) = gate {
        let _permit = gate.acquire().await.unwrap();
    }
    let says = says.lock().unwrap();
    if !says.status.is_success() {
        return says.status.into_response();
    }
    match uri.path() {
        "/.well-known/openid-configuration" => json_body(says.discovery.to_string()),
        "/keys" => json_body(says.keys.to_string()),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}
