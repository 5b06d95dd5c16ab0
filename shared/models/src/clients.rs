//! One client for all models: each call goes to whoever speaks its dialect, once. Whoever calls decides about another time.

use std::sync::Arc;
use std::time::Duration;

use ::http::HeaderMap;
use ::http::header::CONTENT_TYPE;
use async_trait::async_trait;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use pudu_app::ports::{Clock, Dialect, ModelCall, ModelError, ModelFault, Models, Piece};
use pudu_domain::chat::Message;
use reqwest::Response;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::dialect::{Listener, Request, Tongue, Trouble, set};
use crate::fault;
use crate::frames::{Decode, Event, Whole};
use crate::http::Http;
use crate::redact::shown;
use crate::{bedrock, scripted};

/// Most bytes of an error answer that are read.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// Most bytes of an answer.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// Every dialect.
#[derive(Clone)]
pub struct Clients {
    http: Http,
    clock: Arc<dyn Clock>,
    credentials: Option<SharedCredentialsProvider>,
}

/// What is known of a call when something goes wrong with it.
struct Account<'a> {
    call: &'a ModelCall,
    headers: HeaderMap,
}

impl Clients {
    /// The clients of a process. Signatures are made for the time of `clock`.
    pub fn new(http: Http, clock: Arc<dyn Clock>) -> Self {
        Self { http, clock, credentials: None }
    }

    /// The same, which speak with Amazon Bedrock as a role where a model has no API key.
    #[must_use]
    pub fn with_credentials(self, credentials: SharedCredentialsProvider) -> Self {
        Self { credentials: Some(credentials), ..self }
    }

    async fn converse(&self, call: &ModelCall, pieces: &mpsc::Sender<Piece>) -> Result<Message, ModelError> {
        let mut account = Account { call, headers: HeaderMap::new() };
        let Tongue { mut request, decoder, listener } =
            Tongue::of(call).map_err(|trouble| account.troubled(&trouble))?;
        account.headers.clone_from(&request.headers);
        if call.entry.dialect == Dialect::Bedrock && call.entry.api_key.is_none() {
            self.sign(&mut request, &account).await?;
            account.headers.clone_from(&request.headers);
        }
        self.http.permits(&request.url).map_err(|why| {
            account.error(ModelFault::Other, &format!("its address is not called: {why}"), None)
        })?;
        let exchange = self.exchange(request, &account, decoder, listener, pieces);
        let limit = call.entry.timeout;
        timeout(limit, exchange).await.unwrap_or_else(|_| {
            Err(account.error(
                ModelFault::Transient,
                &format!("it took longer than {} s", limit.as_secs()),
                None,
            ))
        })
    }

    async fn sign(&self, request: &mut Request, account: &Account<'_>) -> Result<(), ModelError> {
        let missing = "it has no api_key, and this process has no role to sign with";
        let provider =
            self.credentials.as_ref().ok_or_else(|| account.error(ModelFault::Auth, missing, None))?;
        // Its own words may name files and addresses of this machine.
        let none = |_| {
            account.error(ModelFault::Transient, "the credentials of this process could not be read", None)
        };
        let credentials = provider.provide_credentials().await.map_err(none)?;
        bedrock::sign(request, credentials, self.clock.now()).map_err(|trouble| account.troubled(&trouble))
    }

    async fn exchange(
        &self,
        request: Request,
        account: &Account<'_>,
        mut decoder: Box<dyn Decode>,
        mut listener: Box<dyn Listener>,
        pieces: &mpsc::Sender<Piece>,
    ) -> Result<Message, ModelError> {
        let silence = account.call.entry.chunk_timeout;
        let sending = self.http.client.post(request.url).headers(request.headers).body(request.body).send();
        let response = timeout(silence, sending).await.map_err(|_| account.stalled(silence))?;
        let mut response = response.map_err(|error| account.broken(&error))?;
        if !response.status().is_success() {
            return Err(account.refused(response).await);
        }
        // Not everybody streams who is asked to, and some say in this way that they will not.
        // Bedrock's service always does: whatever its frames are called, its listener knows nothing else.
        if account.call.entry.dialect != Dialect::Bedrock && is_json(response.headers()) {
            decoder = Box::new(Whole::default());
        }
        let mut bytes = 0;
        while !listener.is_whole() {
            let chunk = timeout(silence, response.chunk()).await.map_err(|_| account.stalled(silence))?;
            let Some(chunk) = chunk.map_err(|error| account.broken(&error))? else { break };
            bytes += chunk.len();
            if bytes > MAX_ANSWER_BYTES {
                return Err(account.error(ModelFault::Other, "the answer is too large", None));
            }
            let events = decoder
                .push(&chunk)
                .map_err(|broken| account.error(ModelFault::Transient, &broken.0, None))?;
            account.hear(listener.as_mut(), &events, pieces).await?;
        }
        let rest: Vec<Event> = decoder.end().into_iter().collect();
        account.hear(listener.as_mut(), &rest, pieces).await?;
        listener.message(&account.call.id).map_err(|trouble| account.troubled(&trouble))
    }
}

impl Account<'_> {
    async fn hear(
        &self,
        listener: &mut dyn Listener,
        events: &[Event],
        pieces: &mpsc::Sender<Piece>,
    ) -> Result<(), ModelError> {
        for event in events {
            // What comes after the end is nobody's, also where it came in the same piece.
            if listener.is_whole() {
                break;
            }
            for piece in listener.hear(event).map_err(|trouble| self.troubled(&trouble))? {
                // A receiver that is gone wants no pieces; the answer is whole all the same.
                let _ = pieces.send(piece).await;
            }
        }
        Ok(())
    }

    /// The error, with its words redacted.
    fn error(&self, fault: ModelFault, words: &str, retry_after: Option<Duration>) -> ModelError {
        let message = shown(words, self.call, &self.headers);
        ModelError { model: self.call.entry.name.clone(), fault, message, retry_after }
    }

    fn troubled(&self, trouble: &Trouble) -> ModelError {
        match trouble {
            Trouble::Told(value) => self.told(None, &value.to_string(), None),
            Trouble::Dropped(why) => self.error(ModelFault::Transient, why, None),
            Trouble::Unsendable(why) => self.error(ModelFault::Other, why, None),
        }
    }

    fn stalled(&self, silence: Duration) -> ModelError {
        self.error(ModelFault::Stalled, &format!("nothing came for {} s", silence.as_secs()), None)
    }

    /// The connection failed. The client's own words have the address in them.
    fn broken(&self, error: &reqwest::Error) -> ModelError {
        let why = if error.is_connect() {
            "it could not be connected to"
        } else if error.is_timeout() {
            "it did not answer in time"
        } else {
            "the connection broke"
        };
        self.error(ModelFault::Transient, why, None)
    }

    async fn refused(&self, mut response: Response) -> ModelError {
        let status = response.status().as_u16();
        let retry_after = retry_after(response.headers());
        let kind = kind(response.headers());
        let mut body = Vec::new();
        let silence = self.call.entry.chunk_timeout;
        while let Ok(Ok(Some(chunk))) = timeout(silence, response.chunk()).await {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ERROR_BYTES {
                break;
            }
        }
        let body = String::from_utf8_lossy(&body);
        let retry_after = retry_after.or_else(|| fault::delay(&body));
        match kind {
            Some(kind) => self.told(Some(status), &with_kind(&body, &kind), retry_after),
            None => self.told(Some(status), &body, retry_after),
        }
    }

    fn told(&self, status: Option<u16>, body: &str, retry_after: Option<Duration>) -> ModelError {
        let fault = fault::of_answer(status, body, &self.call.tools);
        let words = fault::words_of(body);
        let words = match (status, words.is_empty()) {
            (Some(status), true) => format!("HTTP {status}"),
            (Some(status), false) => format!("HTTP {status}: {words}"),
            (None, _) => words,
        };
        self.error(fault, &words, retry_after)
    }
}

/// When the provider says one may try again: milliseconds, or seconds. Nought of one is no pause if the other names one.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let millis = number("retry-after-ms").map(|millis| millis / 1000.0);
    let seconds = millis.filter(|seconds| *seconds > 0.0).or_else(|| number("retry-after")).or(millis)?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.trim_start().starts_with("application/json")
}

/// What an error of Amazon's is called: the body alone does not say it.
fn kind(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get("x-amzn-errortype")?.to_str().ok()?.split(':').next()?.trim();
    (!kind.is_empty()).then(|| kind.to_owned())
}

/// An error with what it is called, as other services of Amazon's write it.
fn with_kind(body: &str, kind: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(body) {
        Ok(mut value @ serde_json::Value::Object(_)) => {
            set(&mut value, "__type", kind.into());
            value.to_string()
        }
        _ => serde_json::json!({"__type": kind, "message": body}).to_string(),
    }
}

#[async_trait]
impl Models for Clients {
    async fn call(&self, call: &ModelCall, pieces: mpsc::Sender<Piece>) -> Result<Message, ModelError> {
        match call.entry.dialect {
            Dialect::Scripted => Ok(scripted::speak(call, &pieces).await),
            Dialect::OpenAi | Dialect::Anthropic | Dialect::Bedrock => self.converse(call, &pieces).await,
        }
    }
}
