//! A failed exchange, inside this crate. Its text is redacted where it is made, because the SDK logs errors that pass
//! through it.

use std::error::Error;
use std::time::Duration;

use http::StatusCode;
use pudu_app::ports::CallFault;
use rmcp::model::{ErrorCode, ProtocolVersion};
use serde_json::Value;

use super::verdict;
use crate::egress::Refusal;
use crate::redact::Redactor;
use crate::target::Target;

/// What went wrong, and what the server said about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    pub(crate) fault: CallFault,
    pub(crate) message: String,
    /// The HTTP status, when that is what failed.
    pub(crate) status: Option<u16>,
    /// The JSON-RPC code, when the server answered with an error.
    pub(crate) code: Option<i64>,
    /// The server refused the revision of the request, and lists 2026-07-28 among those that it speaks.
    pub(crate) speaks_newest: bool,
    /// The server refused the request for what its client did not declare: what it requires.
    pub(crate) required: Option<Box<Value>>,
}

impl Failure {
    pub(crate) fn new(fault: CallFault, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { fault, message, status: None, code: None, speaks_newest: false, required: None }
    }

    /// The egress rule refuses the address: nothing was sent.
    pub(crate) fn egress(refusal: Refusal) -> Self {
        Self::new(CallFault::Config, format!("is not called: {refusal}; check its URL"))
    }

    /// The request could not be sent, or no answer began.
    pub(crate) fn sending(target: &Target, error: &reqwest::Error) -> Self {
        if let Some(refusal) = refusal(error) {
            return Self::egress(refusal);
        }
        let cause = target.redactor.text(&root(error));
        if error.is_connect() {
            let message = format!("cannot be reached ({cause}); check its URL and that it is running");
            return Self::new(CallFault::NotSent, message);
        }
        if error.is_builder() {
            return Self::new(
                CallFault::Config,
                format!("the request cannot be made ({cause}); check 'url'"),
            );
        }
        Self::new(CallFault::Broken, format!("the connection failed before an answer came ({cause})"))
    }

    /// The answer began and did not end.
    pub(crate) fn reading(target: &Target, error: &reqwest::Error) -> Self {
        let cause = target.redactor.text(&root(error));
        Self::new(CallFault::Broken, format!("the connection failed inside the answer ({cause})"))
    }

    /// A stream ended without the answer.
    pub(crate) fn unanswered() -> Self {
        Self::new(CallFault::Broken, "the stream ended before the answer came")
    }

    /// The time is over.
    pub(crate) fn timeout(limit: Duration) -> Self {
        Self::new(CallFault::Timeout, format!("timed out: no answer within {} s", limit.as_secs_f64()))
    }

    /// An answer over the bound.
    pub(crate) fn too_large(shown: &impl AsRef<Redactor>) -> Self {
        let limit = super::MAX_ANSWER_BYTES;
        Self::not_mcp(shown, format!("answered with more than {limit} bytes; ask it for less"))
    }

    /// Something that is no answer of MCP; `what` goes on from "the server".
    pub(crate) fn not_mcp(shown: &impl AsRef<Redactor>, what: impl AsRef<str>) -> Self {
        Self::new(CallFault::Protocol, shown.as_ref().text(what.as_ref()))
    }

    /// An HTTP status without a JSON-RPC error: unsuccessful, or a redirect that is not followed.
    pub(crate) fn status(status: StatusCode) -> Self {
        let number = status.as_u16();
        let fault = verdict::of_status(number);
        let verb = verb(fault);
        let advice = match number {
            300..=399 => ": it redirects to another place; put its final address into 'url'",
            401 | 403 => ": check the credentials in this server's entry",
            404 | 405 => ": check 'url', there is no MCP server",
            _ if fault == CallFault::Broken => "; look into its log",
            _ => "",
        };
        Self { status: Some(number), ..Self::new(fault, format!("{verb} with HTTP {number}{advice}")) }
    }

    /// An unsuccessful status with JSON that broke off or is over the bound: a JSON-RPC error of any code.
    pub(crate) fn unread(status: StatusCode) -> Self {
        let number = status.as_u16();
        let fault = verdict::of_error(Some(number), None);
        let message = format!("{} with HTTP {number} and an error that could not be read", verb(fault));
        Self { status: Some(number), ..Self::new(fault, message) }
    }

    /// A JSON-RPC error object, and the HTTP status that it came with when that was unsuccessful.
    pub(crate) fn rpc(shown: &impl AsRef<Redactor>, status: Option<StatusCode>, error: &Value) -> Self {
        let status = status.map(|status| status.as_u16());
        let code = error.get("code").and_then(Value::as_i64);
        let fault = verdict::of_error(status, code);
        let said =
            shown.as_ref().masked(error.get("message").and_then(Value::as_str).unwrap_or("no message"));
        let what = match (status, code) {
            (None, None) => String::new(),
            (None, Some(code)) => format!(" with error {code}"),
            (Some(status), None) => format!(" with HTTP {status}"),
            (Some(status), Some(code)) => format!(" with HTTP {status} and error {code}"),
        };
        let speaks_newest =
            code == Some(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION.0.into()) && lists_newest(error);
        let missing = code == Some(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY.0.into());
        let required = error.pointer("/data/requiredCapabilities").filter(|_| missing).cloned().map(Box::new);
        Self {
            status,
            code,
            speaks_newest,
            required,
            ..Self::new(fault, format!("{}{what}: {said}", verb(fault)))
        }
    }

    /// Whether a request in a session was answered that there is no such session: a 404 without an error, or with one that
    /// says no more than that (`verdict`).
    pub(crate) fn is_unknown_session(&self) -> bool {
        self.status == Some(404)
            && self.fault == CallFault::Refused
            && self.code.is_none_or(|code| verdict::NO_SESSION.contains(&code))
    }

    /// Whether a call that was made by its tool's definition was answered that it does not fit what is there: other headers
    /// are expected, or there is no such tool. "Invalid params" is no sign of it: that is also what wrong arguments get.
    pub(crate) fn is_off_list(&self) -> bool {
        let codes = [ErrorCode::HEADER_MISMATCH, ErrorCode::METHOD_NOT_FOUND];
        self.code.is_some_and(|code| codes.iter().any(|known| i64::from(known.0) == code))
    }

    /// The same before the call itself was sent: whatever failed, nothing happened there.
    pub(crate) fn before_sending(self) -> Self {
        match self.fault {
            CallFault::Timeout | CallFault::Broken | CallFault::Protocol => {
                let message = format!("{} (while connecting; the call itself was not sent)", self.message);
                Self { fault: CallFault::NotSent, message, ..self }
            }
            CallFault::NotSent
            | CallFault::Refused
            | CallFault::Violation
            | CallFault::Config
            | CallFault::Denied => self,
        }
    }
}

fn verb(fault: CallFault) -> &'static str {
    if fault == CallFault::Refused { "refused" } else { "failed" }
}

fn lists_newest(error: &Value) -> bool {
    let listed = error.pointer("/data/supported").and_then(Value::as_array);
    listed.is_some_and(|all| all.iter().any(|one| one == ProtocolVersion::V_2026_07_28.as_str()))
}

/// The resolver's refusal, which comes through two libraries.
fn refusal(error: &reqwest::Error) -> Option<Refusal> {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(refusal) = inner.downcast_ref() {
            return Some(*refusal);
        }
        cause = inner.source();
    }
    None
}

/// The innermost cause: the outer ones print the URL.
fn root(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    while let Some(inner) = cause.and_then(Error::source) {
        cause = Some(inner);
    }
    cause.map_or_else(|| "no details".to_owned(), ToString::to_string)
}
