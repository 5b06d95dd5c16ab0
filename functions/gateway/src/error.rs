//! From a use case's error to the wire: the only place that chooses a status (reference 8.5).

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use pudu_app::chain::Chain;
use pudu_app::configs::{ConfigError, PutError};
use pudu_app::ports::{CallError, CallFault, StoreError};
use pudu_app::tasks::CancelError;
use pudu_app::tools::InvokeError;
use pudu_config::Kind;
use serde_json::json;

/// An answer that is not the one asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    status: StatusCode,
    detail: String,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into() }
    }

    pub(crate) fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// The same words for a task that is not there, of another user or of another thread (reference 8.2).
    pub(crate) fn no_such_task() -> Self {
        Self::new(StatusCode::NOT_FOUND, "this thread has no such task")
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "detail": self.detail }))).into_response()
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        // The sources hold request ids and addresses: they are for the log, not for the caller.
        tracing::error!(error = %Chain(&error), "the table failed a request");
        let status = match error {
            StoreError::Corrupt { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            StoreError::Unavailable { .. } | StoreError::Refused { .. } => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, error.to_string())
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::Store(error) => error.into(),
            error => {
                tracing::error!(error = %Chain(&error), "the config could not be read");
                let status = match error {
                    ConfigError::Key(_) => StatusCode::SERVICE_UNAVAILABLE,
                    _ => StatusCode::INTERNAL_SERVER_ERROR,
                };
                Self::new(status, Chain(&error).to_string())
            }
        }
    }
}

impl From<PutError> for Failure {
    fn from(error: PutError) -> Self {
        match error {
            PutError::Problems(ref problems) => {
                let shape = problems.iter().any(|problem| problem.kind == Kind::Shape);
                let status = if shape { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::BAD_REQUEST };
                Self::new(status, error.to_string())
            }
            PutError::Busy => Self::new(StatusCode::CONFLICT, error.to_string()),
            PutError::Current(error) => error.into(),
            PutError::Store(error) => error.into(),
            PutError::Key(error) => Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
            PutError::Seal(error) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let status = match error.fault {
            CallFault::Timeout => StatusCode::GATEWAY_TIMEOUT,
            CallFault::NotSent
            | CallFault::Broken
            | CallFault::Refused
            | CallFault::Protocol
            | CallFault::Config => StatusCode::BAD_GATEWAY,
        };
        Self::new(status, error.to_string())
    }
}

impl From<InvokeError> for Failure {
    fn from(error: InvokeError) -> Self {
        let status = match error {
            InvokeError::Unknown { .. } | InvokeError::ThreadGone => StatusCode::NOT_FOUND,
            InvokeError::Disabled { .. } | InvokeError::Duplicate { .. } => StatusCode::CONFLICT,
            InvokeError::Arguments(_) => StatusCode::UNPROCESSABLE_ENTITY,
            InvokeError::NotTaken { .. } | InvokeError::Unusable { .. } => StatusCode::BAD_GATEWAY,
            InvokeError::Uncertain { .. } => StatusCode::GATEWAY_TIMEOUT,
            InvokeError::Call(error) => return error.into(),
            InvokeError::Config(error) => return error.into(),
            InvokeError::Store(error) => return error.into(),
        };
        Self::new(status, error.to_string())
    }
}

impl From<CancelError> for Failure {
    fn from(error: CancelError) -> Self {
        match error {
            CancelError::Store(error) => error.into(),
            CancelError::Busy => Self::new(StatusCode::CONFLICT, error.to_string()),
        }
    }
}
