//! The errors of runs and conversations on the wire.

use http::StatusCode;
use pudu_app::models::UnknownModel;
use pudu_app::runs::configured::Unfit;
use pudu_app::runs::values::Unwritable;
use pudu_app::runs::{
    AdmitError, CancelError, CheckpointError, FeedbackError, ReplayError, ThreadError, UpdateError,
};
use pudu_domain::run::Refused;

use super::{Failure, told};

impl From<AdmitError> for Failure {
    fn from(error: AdmitError) -> Self {
        let status = match error {
            AdmitError::Store(error) => return error.into(),
            AdmitError::Key(error) => return error.into(),
            error @ AdmitError::Seal(_) => return told(StatusCode::INTERNAL_SERVER_ERROR, &error),
            AdmitError::NoThread => return Self::no_such_thread(),
            AdmitError::State(error) => return error.into(),
            AdmitError::NotAsked
            | AdmitError::Refused(Refused::Busy | Refused::QueueFull | Refused::Stale) => {
                StatusCode::CONFLICT
            }
            AdmitError::KeyReused | AdmitError::NoCheckpoint => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::new(status, error.to_string())
    }
}

impl From<CancelError> for Failure {
    fn from(CancelError::Store(error): CancelError) -> Self {
        error.into()
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        match error {
            CheckpointError::Store(error) => error.into(),
            CheckpointError::Missing { .. } => Self::new(StatusCode::NOT_FOUND, error.to_string()),
            CheckpointError::Blob(_) => told(StatusCode::SERVICE_UNAVAILABLE, &error),
            CheckpointError::Broken { .. } | CheckpointError::Write(_) => {
                told(StatusCode::INTERNAL_SERVER_ERROR, &error)
            }
        }
    }
}

impl From<UpdateError> for Failure {
    fn from(error: UpdateError) -> Self {
        match error {
            UpdateError::Checkpoint(error) => error.into(),
            UpdateError::Busy | UpdateError::NotAsked => Self::new(StatusCode::CONFLICT, error.to_string()),
            UpdateError::NoThread => Self::no_such_thread(),
            UpdateError::TooLarge => Self::unprocessable(error.to_string()),
            UpdateError::Write(error) => Self::unprocessable(error.to_string()),
        }
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        let status = match error {
            ReplayError::Checkpoint(error) => return error.into(),
            ReplayError::NoThread => return Self::no_such_thread(),
            ReplayError::NoMessage => StatusCode::NOT_FOUND,
            ReplayError::Busy
            | ReplayError::NotLatest
            | ReplayError::OtherSpeaker
            | ReplayError::NoQuestion
            | ReplayError::Together
            | ReplayError::Unchanged => StatusCode::CONFLICT,
            ReplayError::Empty => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::new(status, error.to_string())
    }
}

impl From<FeedbackError> for Failure {
    fn from(error: FeedbackError) -> Self {
        match error {
            FeedbackError::Store(error) => error.into(),
            FeedbackError::NoRun => Self::no_such_run(),
            FeedbackError::Long => Self::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string()),
        }
    }
}

impl From<ThreadError> for Failure {
    fn from(error: ThreadError) -> Self {
        match error {
            ThreadError::Store(error) => error.into(),
            ThreadError::NoThread => Self::no_such_thread(),
            ThreadError::TooLarge => Self::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string()),
        }
    }
}

impl From<Unfit> for Failure {
    fn from(error: Unfit) -> Self {
        Self::unprocessable(error.to_string())
    }
}

impl From<Unwritable> for Failure {
    fn from(error: Unwritable) -> Self {
        Self::unprocessable(error.to_string())
    }
}

impl From<UnknownModel> for Failure {
    fn from(error: UnknownModel) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error.to_string())
    }
}
