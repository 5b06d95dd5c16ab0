//! Errors of JSON-RPC, each with the HTTP status that its revision wants.

use http::StatusCode;
use pudu_app::configs::ConfigError;
use pudu_app::ports::StoreError;
use serde::Serialize;
use serde_json::{Value, json};

use super::revision::{self, Era};
use crate::error::Failure;

const METHOD_NOT_FOUND: i64 = -32601;
const INTERNAL: i64 = -32603;

impl From<ConfigError> for RpcError {
    fn from(error: ConfigError) -> Self {
        Self::internal(Failure::from(error).detail())
    }
}

impl From<StoreError> for RpcError {
    fn from(error: StoreError) -> Self {
        Self::internal(Failure::from(error).detail())
    }
}

/// An error object. Its text says what is wrong and what to do, and never holds a secret.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct RpcError {
    code: i64,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
    #[serde(skip)]
    status: StatusCode,
}

impl RpcError {
    fn new(code: i64, message: impl Into<String>, status: StatusCode) -> Self {
        Self { code, message: message.into(), data: None, status }
    }

    /// The body is not JSON.
    pub(super) fn unreadable(message: impl Into<String>) -> Self {
        Self::new(-32700, message, StatusCode::BAD_REQUEST)
    }

    /// The body is no message.
    pub(super) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, message, StatusCode::BAD_REQUEST)
    }

    /// There is no such method here.
    pub(super) fn method_not_found(method: &str) -> Self {
        let message = if method.len() > 100 {
            "there is no such method".to_owned()
        } else {
            format!("there is no method '{method}'")
        };
        Self::new(METHOD_NOT_FOUND, message, StatusCode::NOT_FOUND)
    }

    /// The parameters do not fit what there is.
    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message, StatusCode::OK)
    }

    /// `_meta` lacks what the revision requires.
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::new(-32602, message, StatusCode::BAD_REQUEST)
    }

    /// Something of ours failed.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(INTERNAL, message, StatusCode::OK)
    }

    /// A server answered the call with this error of its own.
    pub(super) fn of_server(code: i64, message: impl Into<String>) -> Self {
        Self::new(code, message, StatusCode::OK)
    }

    /// A header and the body say different things.
    pub(super) fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(-32020, message, StatusCode::BAD_REQUEST)
    }

    /// The client must be able to do this, and did not say that it can.
    pub(super) fn missing_capability(required: &Value) -> Self {
        let error = Self::new(-32021, "this takes a client that declares more", StatusCode::BAD_REQUEST);
        Self { data: Some(json!({ "requiredCapabilities": required })), ..error }
    }

    /// Whether it is ours, and nothing that its caller could do about it.
    pub(super) fn is_internal(&self) -> bool {
        self.code == INTERNAL
    }

    /// What is wrong, in words.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// The revision of the request is none of ours.
    pub(super) fn unsupported_version(requested: &str) -> Self {
        let error = Self::new(-32022, "this protocol revision is not spoken here", StatusCode::BAD_REQUEST);
        let supported: Vec<&str> = revision::all().collect();
        Self { data: Some(json!({"supported": supported, "requested": requested})), ..error }
    }

    /// With which status it goes out: before 2026-07-28 an answered request is a 200, whatever the answer.
    pub(super) fn status(&self, era: Era) -> StatusCode {
        match era {
            Era::Handshake if self.code == METHOD_NOT_FOUND => StatusCode::OK,
            _ => self.status,
        }
    }
}
