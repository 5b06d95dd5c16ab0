//! One request to a router in process, and its answer.

use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as it is.
    pub text: String,
}

impl Answer {
    /// The body as JSON, for a test that expects JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The body, after checking the status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self.json()
    }

    /// The `detail` of a refusal, after checking the status. An error says nothing else.
    #[track_caller]
    pub fn refused(&self, status: u16) -> String {
        let body = self.expect(status);
        let fields: Vec<&String> = body.as_object().expect("an error is an object").keys().collect();
        assert_eq!(fields, ["detail"]);
        body["detail"].as_str().expect("detail is a text").to_owned()
    }
}

/// Sends a request to `router`.
pub async fn send(router: &Router, request: Request<Body>) -> Answer {
    let Ok(response) = router.clone().oneshot(request).await;
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    Answer {
        status: parts.status,
        headers: parts.headers,
        text: String::from_utf8_lossy(&bytes).into_owned(),
    }
}

/// A request as a client on this machine makes it.
pub fn request(method: Method, path: &str, body: Option<&Value>) -> Request<Body> {
    let request = Request::builder().method(method).uri(path).header(header::HOST, "127.0.0.1:8080");
    match body {
        None => request.body(Body::empty()),
        Some(body) => {
            let text = body.to_string();
            let json = request.header(header::CONTENT_TYPE, "application/json");
            json.header(header::CONTENT_LENGTH, text.len()).body(Body::from(text))
        }
    }
    .unwrap()
}
