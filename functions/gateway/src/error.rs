//! From a use case's error to the wire: the only place that chooses a status (reference 8.5).

mod described;
mod memory;
mod runs;

use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use pudu_app::audit::AuditError;
use pudu_app::callers::AuthError;
use pudu_app::catalog::ResetError;
use pudu_app::chain::Chain;
use pudu_app::configs::{ChangeError, ConfigError};
use pudu_app::dead_letters::ReplayError;
use pudu_app::keys::CreateError;
use pudu_app::ports::{CallError, CallFault, SealKeyError, StoreError, VerifyError};
use pudu_app::rates::TooMany;
use pudu_app::tasks::{CancelError, InputError};
use pudu_app::tools::InvokeError;
use pudu_config::Kind;

pub(crate) use described::{Conflict, Detail, Forbidden, Missing, Stale, Unfit, Upstream};

/// An answer that is not the one asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    status: StatusCode,
    detail: String,
    /// When it makes sense to ask again.
    retry_after: Option<Duration>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), retry_after: None }
    }

    /// Whether it is nothing of the caller's: the same request may do another time.
    pub(crate) fn is_ours(&self) -> bool {
        self.status.is_server_error()
    }

    /// What is wrong.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    pub(crate) fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// Nobody is known by what was shown, or nothing was shown: the same words for all of it.
    pub(crate) fn unauthenticated() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "show an API key or a token: Authorization: Bearer …")
    }

    /// A thread that is not there, or is being deleted.
    pub(crate) fn no_such_thread() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is no such thread")
    }

    /// A run that is not there, of another user or of another thread.
    pub(crate) fn no_such_run() -> Self {
        Self::new(StatusCode::NOT_FOUND, "this thread has no such run")
    }

    /// A user who has as many streams here as one may have.
    pub(crate) fn too_many_streams() -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "you have too many open streams here; close one first")
    }

    /// The same words for a task that is not there, of another user or of another thread (reference 8.2).
    pub(crate) fn no_such_task() -> Self {
        Self::new(StatusCode::NOT_FOUND, "this thread has no such task")
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(Detail { detail: self.detail })).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(wait) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, wait.as_secs().max(1).into());
        }
        response
    }
}

/// Logs an error with its sources, once, here at the edge, and answers with its outer words: the sources hold request ids,
/// keys and addresses, which are not for callers.
fn told(status: StatusCode, error: &(dyn std::error::Error + 'static)) -> Failure {
    let (chain, code) = (Chain(error), status.as_u16());
    // An outage heals by itself; anything else needs somebody.
    if status == StatusCode::SERVICE_UNAVAILABLE {
        tracing::warn!(error = %chain, http.status = code, "a request was not served");
    } else {
        tracing::error!(error = %chain, http.status = code, "a request was not served");
    }
    Failure::new(status, error.to_string())
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Corrupt { item, .. } => {
                let detail = format!("a stored {item} does not decode; the log says which");
                Self { detail, ..told(StatusCode::INTERNAL_SERVER_ERROR, &error) }
            }
            StoreError::Unavailable { .. } | StoreError::Refused { .. } => {
                told(StatusCode::SERVICE_UNAVAILABLE, &error)
            }
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::Store(error) => error.into(),
            ConfigError::Key(error) => error.into(),
            error @ ConfigError::File { .. } => told(StatusCode::SERVICE_UNAVAILABLE, &error),
            error @ ConfigError::NoHistory { .. } => Self::new(StatusCode::CONFLICT, error.to_string()),
            error @ (ConfigError::Open { .. }
            | ConfigError::Missing { .. }
            | ConfigError::Seal(_)
            | ConfigError::Invalid { .. }) => told(StatusCode::INTERNAL_SERVER_ERROR, &error),
        }
    }
}

impl<E: std::error::Error + Into<Self> + 'static> From<AuditError<E>> for Failure {
    fn from(error: AuditError<E>) -> Self {
        match error {
            error @ AuditError::NotRecorded(_) => told(StatusCode::SERVICE_UNAVAILABLE, &error),
            AuditError::Change(error) => error.into(),
        }
    }
}

impl From<AuthError> for Failure {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::Invalid => Self::unauthenticated(),
            AuthError::Strangers(wait) => {
                let failure = Self::new(StatusCode::TOO_MANY_REQUESTS, error.to_string());
                Self { retry_after: Some(wait), ..failure }
            }
            AuthError::Verifier(error @ VerifyError::NoRole) => {
                Self::new(StatusCode::FORBIDDEN, error.to_string())
            }
            error @ (AuthError::Store(_) | AuthError::Verifier(VerifyError::Keys { .. })) => {
                told(StatusCode::SERVICE_UNAVAILABLE, &error)
            }
        }
    }
}

impl From<CreateError> for Failure {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Store(error) => error.into(),
            CreateError::Taken => Self::new(StatusCode::CONFLICT, error.to_string()),
        }
    }
}

impl From<SealKeyError> for Failure {
    fn from(error: SealKeyError) -> Self {
        told(StatusCode::SERVICE_UNAVAILABLE, &error)
    }
}

impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Problems(ref problems) => {
                let shape = problems.iter().any(|problem| problem.kind == Kind::Shape);
                let status = if shape { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::BAD_REQUEST };
                Self::new(status, error.to_string())
            }
            ChangeError::Unknown { .. } | ChangeError::NoRevision { .. } => {
                Self::new(StatusCode::NOT_FOUND, error.to_string())
            }
            ChangeError::Changed => Self::new(StatusCode::PRECONDITION_FAILED, error.to_string()),
            ChangeError::Exists { .. } | ChangeError::Busy => {
                Self::new(StatusCode::CONFLICT, error.to_string())
            }
            // Somebody's edit of the file is in the way, not a fault of ours.
            ChangeError::Source(error @ ConfigError::Invalid { .. }) => {
                Self::new(StatusCode::CONFLICT, error.to_string())
            }
            ChangeError::Source(error) => error.into(),
        }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let status = match error.fault {
            CallFault::Timeout => StatusCode::GATEWAY_TIMEOUT,
            CallFault::Denied => StatusCode::FORBIDDEN,
            CallFault::NotSent
            | CallFault::Broken
            | CallFault::Refused
            | CallFault::Protocol
            | CallFault::Violation
            | CallFault::Config => StatusCode::BAD_GATEWAY,
        };
        Self::new(status, error.to_string())
    }
}

impl From<InvokeError> for Failure {
    fn from(error: InvokeError) -> Self {
        let status = match error {
            InvokeError::Unknown { .. } | InvokeError::ThreadGone => StatusCode::NOT_FOUND,
            // Nobody reads the last one's.
            InvokeError::Disabled { .. }
            | InvokeError::Duplicate { .. }
            | InvokeError::UnderWay
            | InvokeError::HungUp => StatusCode::CONFLICT,
            InvokeError::Arguments(_) | InvokeError::KeyReused | InvokeError::NotDurable { .. } => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            InvokeError::NotTaken { .. } | InvokeError::Unusable { .. } => StatusCode::BAD_GATEWAY,
            InvokeError::Uncertain { .. } => StatusCode::GATEWAY_TIMEOUT,
            InvokeError::Call(error) => return error.into(),
            InvokeError::Config(error) => return error.into(),
            InvokeError::Store(error) => return error.into(),
        };
        Self::new(status, error.to_string())
    }
}

impl From<ResetError> for Failure {
    fn from(error: ResetError) -> Self {
        match error {
            ResetError::Config(error) => error.into(),
            ResetError::Store(error) => error.into(),
        }
    }
}

impl From<CancelError> for Failure {
    fn from(error: CancelError) -> Self {
        match error {
            CancelError::Store(error) => error.into(),
            CancelError::Busy => Self::new(StatusCode::CONFLICT, error.to_string()),
            CancelError::Unattended { .. } => told(StatusCode::SERVICE_UNAVAILABLE, &error),
        }
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        let status = match error {
            InputError::Store(error) => return error.into(),
            InputError::Rejected(_) | InputError::Unanswerable(_) | InputError::Busy => StatusCode::CONFLICT,
            InputError::Unfit(_) => StatusCode::UNPROCESSABLE_ENTITY,
            InputError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        };
        Self::new(status, error.to_string())
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        let status = match error {
            ReplayError::Store(error) => return error.into(),
            ReplayError::Unknown => StatusCode::NOT_FOUND,
            ReplayError::NotDead(_) | ReplayError::Busy => StatusCode::CONFLICT,
        };
        Self::new(status, error.to_string())
    }
}

impl From<TooMany> for Failure {
    fn from(error: TooMany) -> Self {
        let failure = Self::new(StatusCode::TOO_MANY_REQUESTS, error.to_string());
        Self { retry_after: Some(error.wait), ..failure }
    }
}
