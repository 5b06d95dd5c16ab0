use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::ErrorMetadata;
use aws_sdk_dynamodb::operation::get_item::GetItemError;
use aws_sdk_dynamodb::types::error::TransactionCanceledException;
use aws_smithy_types::body::SdkBody;

use super::*;

fn service<E>(error: E, status: u16) -> SdkError<E> {
    SdkError::service_error(error, HttpResponse::new(status.try_into().unwrap(), SdkBody::empty()))
}

/// An error that the SDK has no type for.
fn coded(code: &str, status: u16) -> &'static str {
    let error = GetItemError::generic(ErrorMetadata::builder().code(code).message("words").build());
    name(&fault(service(error, status)))
}

fn name(fault: &Fault) -> &'static str {
    match fault {
        Fault::Condition(_) => "condition",
        Fault::Rejected(_) => "rejected",
        Fault::Unanswered(_) => "unanswered",
        Fault::Unfit(_) => "unfit",
        Fault::Refused(_) => "refused",
    }
}

fn cancelled(codes: &[&str]) -> Fault {
    let reasons = codes.iter().map(|code| CancellationReason::builder().code(*code).build()).collect();
    let error = TransactionCanceledException::builder().set_cancellation_reasons(Some(reasons)).build();
    write_fault(service(TransactWriteItemsError::TransactionCanceledException(error), 400))
}

#[test]
fn codes_decide_and_words_do_not() {
    for (code, status, expected) in [
        ("ThrottlingException", 400, "rejected"),
        ("ProvisionedThroughputExceededException", 400, "rejected"),
        ("RequestLimitExceeded", 400, "rejected"),
        ("TransactionConflictException", 400, "rejected"),
        ("TransactionInProgressException", 400, "unanswered"),
        ("InternalServerError", 500, "unanswered"),
        ("ServiceUnavailable", 503, "unanswered"),
        ("ValidationException", 400, "unfit"),
        ("ResourceNotFoundException", 400, "refused"),
        ("AccessDeniedException", 400, "refused"),
        ("ExpiredTokenException", 400, "refused"),
        ("SomethingNew", 400, "refused"),
    ] {
        assert_eq!(coded(code, status), expected, "{code}");
    }
}

#[test]
fn without_an_answer_nothing_is_certain() {
    let timeout = SdkError::<GetItemError>::timeout_error("late");
    assert_eq!(name(&fault(timeout)), "unanswered");
    let garbled = SdkError::<GetItemError>::response_error(
        "not JSON",
        HttpResponse::new(200.try_into().unwrap(), SdkBody::empty()),
    );
    assert_eq!(name(&fault(garbled)), "unanswered");
    let never_sent = SdkError::<GetItemError>::construction_failure("no region");
    assert_eq!(name(&fault(never_sent)), "refused");
}

#[test]
fn one_failed_condition_decides_a_transaction() {
    for (codes, expected) in [
        (vec!["None", "ConditionalCheckFailed"], "condition"),
        (vec!["TransactionConflict", "ConditionalCheckFailed"], "condition"),
        (vec!["TransactionConflict", "None"], "rejected"),
        (vec!["ThrottlingError"], "rejected"),
        (vec!["ProvisionedThroughputExceeded", "TransactionConflict"], "rejected"),
        (vec!["ValidationError", "None"], "refused"),
        (vec!["ItemCollectionSizeLimitExceeded"], "refused"),
        (vec!["TransactionConflict", "DuplicateItem"], "refused"),
    ] {
        assert_eq!(name(&cancelled(&codes)), expected, "{codes:?}");
    }
    let Fault::Condition(elements) = cancelled(&["None", "ConditionalCheckFailed"]) else {
        panic!("no condition")
    };
    assert_eq!(elements, [Element::Passed, Element::Failed(None)]);
}
