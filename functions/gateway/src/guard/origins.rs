//! Pages of other origins that may call (CORS). None is allowed that was not named; a page that is not is told nothing, and its
//! browser keeps the answer from it.
//!
//! No cookie is ever read, so there is nothing that a browser would add by itself: a page calls with the key or token that its
//! user gave it, or not at all.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::CorsLayer;

/// For how long a browser need not ask again.
const MAX_AGE: Duration = Duration::from_mins(10);
const METHODS: [Method; 5] = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
/// What a page may send.
const SENT: [HeaderName; 12] = [
    header::ACCEPT,
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    header::IF_MATCH,
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("mcp-session-id"),
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("x-api-key"),
];
/// What a page may read beside the few that every page may.
const SHOWN: [HeaderName; 10] = [
    header::CONTENT_LOCATION,
    header::ETAG,
    header::LINK,
    header::LOCATION,
    header::RETRY_AFTER,
    header::WWW_AUTHENTICATE,
    HeaderName::from_static("idempotency-replayed"),
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("mcp-session-id"),
    HeaderName::from_static("pudu-next-cursor"),
];

/// The origins whose pages may call.
#[derive(Debug, Clone, Default)]
pub struct Origins(Arc<[HeaderValue]>);

impl Origins {
    /// Those of these names, each as a browser writes it; what cannot stand in a header is none.
    pub fn new(origins: &[String]) -> Self {
        Self(origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect())
    }

    /// Whether pages of it may call.
    pub(super) fn has(&self, origin: &HeaderValue) -> bool {
        self.0.contains(origin)
    }

    /// What answers browsers that ask first, before anybody is authenticated: such a question carries no credential.
    pub(crate) fn layer(&self) -> Option<CorsLayer> {
        let cors = CorsLayer::new()
            .allow_origin(self.0.to_vec())
            .allow_methods(METHODS)
            .allow_headers(SENT)
            .expose_headers(SHOWN)
            .max_age(MAX_AGE)
            // A page elsewhere that calls one machine: its browser asks for that too.
            .allow_private_network(true);
        (!self.0.is_empty()).then_some(cors)
    }
}
