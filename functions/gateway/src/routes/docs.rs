//! `GET /docs`: the contract as a page. It is one document of our own that loads nothing but `openapi.json` beside it: its policy
//! names its script and its style by their digests, so that nothing else could run in it. It takes no key: a page that holds one
//! would be worth attacking.

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderName, header};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("docs/page.css");
const SCRIPT: &str = include_str!("docs/page.js");

static PAGE: LazyLock<String> = LazyLock::new(|| {
    include_str!("docs/page.html").replace("{{style}}", STYLE).replace("{{script}}", SCRIPT)
});

static POLICY: LazyLock<String> = LazyLock::new(|| {
    let (style, script) = (digest(STYLE), digest(SCRIPT));
    format!(
        "default-src 'none'; style-src {style}; script-src {script}; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
});

/// How a policy names a text.
fn digest(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

/// This contract as a page.
#[utoipa::path(
    get,
    path = "/docs",
    operation_id = "get_docs",
    tag = "service",
    security(()),
    responses((status = OK, description = "A page for people", body = String, content_type = "text/html"))
)]
pub(super) async fn get() -> Response {
    let headers: [(HeaderName, &str); 5] = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, &POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, PAGE.as_str()).into_response()
}
