//! A small KMS behind the SDK's HTTP client: `GenerateDataKey` and `Decrypt` in its JSON protocol, with its error classes.
//!
//! It wraps by a number into a table of its own, so a wrapped key says nothing about the plain one. As in the real service a
//! wrapping is bound to its key and to its encryption context.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use aws_sdk_kms::Client;
use aws_sdk_kms::config::retry::RetryConfig;
use aws_sdk_kms::config::{BehaviorVersion, Credentials, Region};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::base64;
use aws_smithy_types::body::SdkBody;
use axum::Router;
use http::{HeaderMap, StatusCode};
use pudu_app::ports::Random;
use pudu_lambda::random::OsRandom;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

pub(crate) const ACCOUNT: &str = "123456789012";
pub(crate) const KEY: &str = "arn:aws:kms:eu-central-1:123456789012:key/one";
pub(crate) const OTHER_KEY: &str = "arn:aws:kms:eu-central-1:123456789012:key/other";
pub(crate) const REQUEST_ID: &str = "7c1f3a52-request";

#[derive(Debug)]
struct Wrapping {
    plain: [u8; 32],
    key: String,
    context: Value,
}

#[derive(Debug, Default)]
struct State {
    wrappings: HashMap<Vec<u8>, Wrapping>,
    made: Vec<[u8; 32]>,
    decrypts: usize,
    refusal: Option<&'static str>,
    silent: bool,
    barrier: Option<Arc<Barrier>>,
}

/// The service; clones are the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct FakeKms(Arc<Mutex<State>>);

impl FakeKms {
    pub(crate) fn client(&self) -> Client {
        let config = aws_sdk_kms::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .endpoint_url("http://kms.invalid")
            .credentials_provider(Credentials::new("a", "b", None, None, "fake"))
            .retry_config(RetryConfig::disabled())
            .http_client(self.clone());
        Client::from_conf(config.build())
    }

    /// How many keys were made and unwrapped.
    pub(crate) fn calls(&self) -> (usize, usize) {
        let state = self.0.lock().unwrap();
        (state.made.len(), state.decrypts)
    }

    /// The plain keys that were made.
    pub(crate) fn made(&self) -> Vec<[u8; 32]> {
        self.0.lock().unwrap().made.clone()
    }

    /// Refuses everything with an error of that class.
    pub(crate) fn refuse_with(&self, code: &'static str) {
        self.0.lock().unwrap().refusal = Some(code);
    }

    /// Refuses nothing any more.
    pub(crate) fn allow(&self) {
        self.0.lock().unwrap().refusal = None;
    }

    /// Breaks every connection from now on.
    pub(crate) fn fall_silent(&self) {
        self.0.lock().unwrap().silent = true;
    }

    /// Answers a request for a new key only when so many have asked.
    pub(crate) fn answer_when_asked_by(&self, askers: usize) {
        self.0.lock().unwrap().barrier = Some(Arc::new(Barrier::new(askers)));
    }

    /// Wraps a key.
    pub(crate) fn wrap(&self, plain: [u8; 32], key: &str, context: &Value) -> Vec<u8> {
        let mut name = [0; 16];
        OsRandom.fill(&mut name);
        let wrapped = [b"wrapped:".as_slice(), &name].concat();
        let wrapping = Wrapping { plain, key: key.to_owned(), context: context.clone() };
        self.0.lock().unwrap().wrappings.insert(wrapped.clone(), wrapping);
        wrapped
    }

    /// The same service on loopback, for processes: its address, while the value lives.
    pub(crate) async fn serve(&self) -> (String, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let kms = self.clone();
        let handler = async move |headers: HeaderMap, body: String| {
            let operation =
                headers.get("x-amz-target").and_then(|name| name.to_str().ok()).unwrap_or_default();
            match kms.answer(operation, &serde_json::from_str(&body).unwrap()) {
                Ok(answer) => (StatusCode::OK, answer.to_string()),
                Err(code) => (StatusCode::BAD_REQUEST, json!({"__type": code}).to_string()),
            }
        };
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, Router::new().fallback(handler)).await.unwrap() });
        (url, serving)
    }

    fn answer(&self, operation: &str, asked: &Value) -> Result<Value, &'static str> {
        if let Some(code) = self.0.lock().unwrap().refusal {
            return Err(code);
        }
        let key = asked["KeyId"].as_str().ok_or("ValidationException")?;
        let context = &asked["EncryptionContext"];
        match operation {
            "TrentService.GenerateDataKey" if asked["KeySpec"] == "AES_256" => {
                let mut plain = [0; 32];
                OsRandom.fill(&mut plain);
                let wrapped = self.wrap(plain, key, context);
                self.0.lock().unwrap().made.push(plain);
                let (plain, wrapped) = (base64::encode(plain), base64::encode(wrapped));
                Ok(json!({"KeyId": key, "Plaintext": plain, "CiphertextBlob": wrapped}))
            }
            "TrentService.Decrypt" => {
                let wrapped = asked["CiphertextBlob"].as_str().ok_or("ValidationException")?;
                let wrapped = base64::decode(wrapped).map_err(|_| "ValidationException")?;
                let mut state = self.0.lock().unwrap();
                state.decrypts += 1;
                let wrapping = state.wrappings.get(&wrapped).ok_or("InvalidCiphertextException")?;
                if wrapping.key != key {
                    return Err("IncorrectKeyException");
                }
                if wrapping.context != *context {
                    return Err("InvalidCiphertextException");
                }
                Ok(json!({"KeyId": key, "Plaintext": base64::encode(wrapping.plain)}))
            }
            _ => Err("ValidationException"),
        }
    }
}

/// The real service names the role and the key.
fn words() -> String {
    format!("User: arn:aws:sts::{ACCOUNT}:assumed-role/pudu is not authorized on {KEY}")
}

impl HttpConnector for FakeKms {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let operation = request.headers().get("x-amz-target").unwrap_or_default().to_owned();
        let asked: Value = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap();
        let kms = self.clone();
        HttpConnectorFuture::new(async move {
            let (silent, barrier) = {
                let state = kms.0.lock().unwrap();
                (state.silent, state.barrier.clone())
            };
            if silent {
                return Err(ConnectorError::io("the connection broke".into()));
            }
            if let Some(barrier) = barrier.filter(|_| operation.ends_with(".GenerateDataKey")) {
                barrier.wait().await;
            }
            let (status, body) = match kms.answer(&operation, &asked) {
                Ok(answer) => (200_u16, answer),
                Err(code) => (400, json!({"__type": code, "message": words()})),
            };
            let mut response = HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body.to_string()));
            response.headers_mut().insert("content-type", "application/x-amz-json-1.1");
            response.headers_mut().insert("x-amzn-requestid", REQUEST_ID);
            Ok(response)
        })
    }
}

impl HttpClient for FakeKms {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}
