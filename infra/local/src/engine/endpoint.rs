//! The engine behind HTTP on a loopback port, for other processes: a crashed poller, the Lambda binaries, commands.
//!
//! Our own door and not the engine's `server` module: that one works inline on the runtime's workers, takes any
//! credentials, and tells every web page by CORS that it may read the table. This one answers through the same
//! `dispatch` as the connector, on the blocking pool, only to who knows the access key, and never to a browser.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::dispatch::{self, Answer, MEDIA_TYPE, TARGET_HEADER};
use super::{REGION, Store};

/// DynamoDB's own limit of a request, in bytes.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// How long [`Endpoint::stop`] waits for requests in flight.
const GRACE: Duration = Duration::from_millis(500);

/// A served engine. Dropping it stops the serving.
pub struct Endpoint {
    addr: SocketAddr,
    access_key: String,
    stopping: CancellationToken,
    serving: JoinSet<()>,
}

/// Why an engine could not be served.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The address is reachable from other machines.
    #[error("the engine is served on loopback only, not on {addr}: use 127.0.0.1")]
    NotLoopback {
        /// The address asked for.
        addr: SocketAddr,
    },
    /// The port is taken or may not be used.
    #[error("the engine cannot listen on {addr}: choose another port, or 0 for a free one")]
    Bind {
        /// The address asked for.
        addr: SocketAddr,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

struct Door {
    store: Arc<Store>,
    /// How the `Authorization` header of a caller who knows the key names it.
    credential: String,
}

impl Endpoint {
    pub(super) async fn start(
        store: Arc<Store>,
        addr: SocketAddr,
        access_key: String,
    ) -> Result<Self, EndpointError> {
        if !addr.ip().is_loopback() {
            return Err(EndpointError::NotLoopback { addr });
        }
        let bind = |source| EndpointError::Bind { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(bind)?;
        let addr = listener.local_addr().map_err(bind)?;
        let door = Arc::new(Door { store, credential: format!("Credential={access_key}/") });
        let router =
            Router::new().route("/", post(handle)).layer(DefaultBodyLimit::max(MAX_BODY)).with_state(door);
        let listener = listener.tap_io(|stream| {
            // An answer is one small write: waiting for more to send only delays it. A stream that refuses is slower.
            let _ = stream.set_nodelay(true);
        });
        let stopping = CancellationToken::new();
        let stopped = stopping.clone().cancelled_owned();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            // Never an error: accepting retries by itself.
            let _ = axum::serve(listener, router).with_graceful_shutdown(stopped).await;
        });
        Ok(Self { addr, access_key, stopping, serving })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What to give an SDK as its endpoint.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The environment that points the AWS SDK of a child process here. Holds the access key: do not print it.
    pub fn environment(&self) -> [(&'static str, String); 4] {
        [
            ("AWS_ENDPOINT_URL_DYNAMODB", self.url()),
            ("AWS_ACCESS_KEY_ID", self.access_key.clone()),
            ("AWS_SECRET_ACCESS_KEY", "embedded".to_owned()),
            ("AWS_REGION", REGION.to_owned()),
        ]
    }

    /// Stops accepting, lets requests in flight end for up to half a second, and returns.
    pub async fn stop(mut self) {
        self.stopping.cancel();
        // Past the grace the drop of the set ends the serving; a request cut off there is an answer lost, which a
        // client must expect of any server.
        let _ = tokio::time::timeout(GRACE, self.serving.join_next()).await;
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("addr", &self.addr).finish_non_exhaustive()
    }
}

async fn handle(State(door): State<Arc<Door>>, headers: HeaderMap, body: Bytes) -> Response {
    // A browser sends it with every cross-site POST; an SDK never does.
    if headers.contains_key(header::ORIGIN) {
        return respond(dispatch::refusal(403, "AccessDeniedException", "Browsers are not served."));
    }
    // The signature is not recomputed: on loopback the key itself is the secret, and who has it may do everything.
    let signed = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.contains(&door.credential));
    if !signed {
        return respond(dispatch::refusal(
            400,
            "UnrecognizedClientException",
            "The access key id is not the one of this engine.",
        ));
    }
    let target = headers.get(TARGET_HEADER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let work = move || dispatch::answer(&door.store.database, target.as_deref(), &body);
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => respond(answer),
        Err(_) => respond(dispatch::refusal(500, "InternalServerError", "The embedded engine failed.")),
    }
}

fn respond(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let media_type = HeaderValue::from_static(MEDIA_TYPE);
    (status, [(header::CONTENT_TYPE, media_type)], answer.body).into_response()
}
