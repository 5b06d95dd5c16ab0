//! What an SDK error means: a condition that failed, a rejection, silence, or a refusal. By types and error codes, never
//! by the words of a message.

use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::CancellationReason;

use crate::row::Row;

#[cfg(test)]
mod tests;

/// Any error, as a source.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A request that did not succeed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A condition failed: nothing was written, and that is an answer.
    Condition(Vec<Element>),
    /// Certainly not applied, and may succeed later: throttling, a conflict with another transaction.
    Rejected(BoxError),
    /// No definite answer: it may have been applied.
    Unanswered(BoxError),
    /// The expression does not fit the row: an attribute is missing or of another type.
    Unfit(BoxError),
    /// Refused for good.
    Refused(BoxError),
}

/// One element of a conditional write; a single write has one.
#[derive(Debug, PartialEq)]
pub(crate) enum Element {
    /// Its condition held (or it was not looked at).
    Passed,
    /// Its condition failed on this row; none if there is no row.
    Failed(Option<Row>),
}

/// An operation's error that may carry failed conditions.
pub(crate) trait Conditional {
    /// What the conditions met, if that is what went wrong.
    fn take_fault(&mut self) -> Option<Fault>;
}

impl Conditional for PutItemError {
    fn take_fault(&mut self) -> Option<Fault> {
        match self {
            Self::ConditionalCheckFailedException(failed) => {
                Some(Fault::Condition(vec![Element::Failed(failed.item.take())]))
            }
            _ => None,
        }
    }
}

impl Conditional for DeleteItemError {
    fn take_fault(&mut self) -> Option<Fault> {
        match self {
            Self::ConditionalCheckFailedException(failed) => {
                Some(Fault::Condition(vec![Element::Failed(failed.item.take())]))
            }
            _ => None,
        }
    }
}

impl Conditional for UpdateItemError {
    fn take_fault(&mut self) -> Option<Fault> {
        match self {
            Self::ConditionalCheckFailedException(failed) => {
                Some(Fault::Condition(vec![Element::Failed(failed.item.take())]))
            }
            _ => None,
        }
    }
}

impl Conditional for TransactWriteItemsError {
    fn take_fault(&mut self) -> Option<Fault> {
        let Self::TransactionCanceledException(cancelled) = self else { return None };
        let reasons = cancelled.cancellation_reasons.take().unwrap_or_default();
        let is_failure = |reason: &CancellationReason| reason.code() == Some("ConditionalCheckFailed");
        // One failed condition decides, whatever else happened: trying again could not make it hold.
        if reasons.iter().any(is_failure) {
            let element = |reason: CancellationReason| {
                if is_failure(&reason) { Element::Failed(reason.item) } else { Element::Passed }
            };
            return Some(Fault::Condition(reasons.into_iter().map(element).collect()));
        }
        let codes: Vec<String> = reasons.into_iter().filter_map(|reason| reason.code).collect();
        let passing = |code: &String| {
            matches!(
                code.as_str(),
                "None" | "TransactionConflict" | "ProvisionedThroughputExceeded" | "ThrottlingError"
            )
        };
        // A cancellation is definite: nothing of the transaction was written.
        let again = codes.iter().all(passing);
        let source = Box::new(Cancelled { codes: codes.join(", ") });
        Some(if again { Fault::Rejected(source) } else { Fault::Refused(source) })
    }
}

/// A cancelled transaction in which no condition failed.
#[derive(Debug, thiserror::Error)]
#[error("the transaction was cancelled: {codes}")]
struct Cancelled {
    codes: String,
}

/// Classifies the error of a write.
pub(crate) fn write_fault<E>(error: SdkError<E>) -> Fault
where
    E: Conditional + ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    match error {
        SdkError::ServiceError(context) => {
            let status = context.raw().status().as_u16();
            let mut error = context.into_err();
            error.take_fault().unwrap_or_else(|| service_fault(error, status))
        }
        other => fault(other),
    }
}

/// Classifies the error of a read, or of a write without a condition.
pub(crate) fn fault<E>(error: SdkError<E>) -> Fault
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    match error {
        SdkError::ServiceError(context) => {
            let status = context.raw().status().as_u16();
            service_fault(context.into_err(), status)
        }
        // Never sent: a request that the SDK could not even build, or a connector that says that it is our fault.
        SdkError::ConstructionFailure(_) => Fault::Refused(source(error)),
        SdkError::DispatchFailure(ref failure) if failure.is_user() => Fault::Refused(source(error)),
        _ => Fault::Unanswered(source(error)),
    }
}

fn service_fault<E>(error: E, status: u16) -> Fault
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    match error.code().unwrap_or_default() {
        "ProvisionedThroughputExceededException"
        | "RequestLimitExceeded"
        | "ThrottlingException"
        | "Throttling"
        | "LimitExceededException"
        | "TransactionConflictException"
        | "ReplicatedWriteConflictException" => Fault::Rejected(Box::new(error)),
        // An earlier attempt is still being worked on: it may yet be applied.
        "TransactionInProgressException" => Fault::Unanswered(Box::new(error)),
        "ValidationException" => Fault::Unfit(Box::new(error)),
        _ if status >= 500 => Fault::Unanswered(Box::new(error)),
        _ => Fault::Refused(Box::new(error)),
    }
}

/// A request that lacks a required part: a defect of ours.
impl From<BuildError> for Fault {
    fn from(error: BuildError) -> Self {
        Self::Refused(Box::new(error))
    }
}

/// What is below the SDK's envelope. The envelope itself would put the raw answer, rows and all, into `Debug`.
fn source<E>(error: SdkError<E>) -> BoxError
where
    E: std::error::Error + Send + Sync + 'static,
{
    error.into_source().unwrap_or_else(|error| Box::new(error))
}
