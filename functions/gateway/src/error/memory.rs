//! The errors of memories on the wire.

use http::StatusCode;
use pudu_app::memories::MemoryError;
use pudu_domain::memory::Refused;

use super::Failure;

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        let status = match error {
            MemoryError::Store(error) => return error.into(),
            MemoryError::Refused(Refused::NoSuchFact) => return Self::no_such_fact(),
            MemoryError::Refused(Refused::Duplicate) | MemoryError::Busy => StatusCode::CONFLICT,
            MemoryError::Refused(Refused::Blank | Refused::TooLong | Refused::Confidence) => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            MemoryError::Stale => StatusCode::PRECONDITION_FAILED,
        };
        Self::new(status, error.to_string())
    }
}

impl Failure {
    /// A fact that is not remembered of this caller.
    pub(crate) fn no_such_fact() -> Self {
        Self::new(StatusCode::NOT_FOUND, Refused::NoSuchFact.to_string())
    }
}
