//! The engine as the AWS SDK's HTTP client: requests are answered in process, no socket is opened.
//!
//! The SDK's own serialisation, typing and error classes stay in place, so that the stores are the code that runs in
//! the cloud. Touches nothing but the engine it was made from.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;

use super::Store;
use super::dispatch::{self, Answer, MEDIA_TYPE, TARGET_HEADER};

/// Where the engine's work runs. It blocks: `SQLite` waits for the disk and never yields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// On the runtime's blocking pool, so that the callers' runtime goes on.
    #[default]
    Blocking,
    /// In the caller's task after one yield. For a simulation on a memory engine: a thread pool's order is no
    /// function of the seed, and without the yield two tasks would never interleave at a store call.
    Inline,
}

/// The SDK's HTTP client over an [`Engine`](super::Engine). Clones share the engine and the request numbers.
#[derive(Clone)]
pub struct EmbeddedConnector {
    store: Arc<Store>,
    mode: Mode,
    requests: Arc<AtomicU64>,
}

impl EmbeddedConnector {
    pub(super) fn new(store: Arc<Store>, mode: Mode) -> Self {
        Self { store, mode, requests: Arc::default() }
    }
}

impl fmt::Debug for EmbeddedConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedConnector").field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl HttpConnector for EmbeddedConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get(TARGET_HEADER).map(str::to_owned);
        let Some(body) = request.body().bytes().map(<[u8]>::to_vec) else {
            return HttpConnectorFuture::ready(Err(ConnectorError::user(
                "the embedded engine takes no streamed body".into(),
            )));
        };
        let store = Arc::clone(&self.store);
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let mode = self.mode;
        HttpConnectorFuture::new(async move {
            let work = move || dispatch::answer(&store.database, target.as_deref(), &body);
            let answer = match mode {
                Mode::Blocking => tokio::task::spawn_blocking(work)
                    .await
                    .map_err(|error| ConnectorError::other(error.into(), None))?,
                Mode::Inline => {
                    tokio::task::yield_now().await;
                    work()
                }
            };
            response(answer, number)
        })
    }
}

impl HttpClient for EmbeddedConnector {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

fn response(answer: Answer, number: u64) -> Result<HttpResponse, ConnectorError> {
    let status = answer.status.try_into().map_err(|error| ConnectorError::other(Box::new(error), None))?;
    let mut response = HttpResponse::new(status, SdkBody::from(answer.body));
    let headers = response.headers_mut();
    headers.insert("content-type", MEDIA_TYPE);
    headers.insert("x-amzn-requestid", format!("EMBEDDED{number:016X}"));
    Ok(response)
}
