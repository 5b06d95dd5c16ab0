//! One request of the DynamoDB JSON protocol, answered by the engine: pure apart from the database it is given.
//!
//! Promises: an error carries DynamoDB's own class, status and words; an operation that the engine does not have
//! is `UnknownOperationException`; no marker that the engine uses between its layers is ever answered.

use dynoxide::{Database, DynoxideError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Media type of every answer.
pub(super) const MEDIA_TYPE: &str = "application/x-amz-json-1.0";

/// The header that names the operation.
pub(super) const TARGET_HEADER: &str = "x-amz-target";

/// The engine's answer to one request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// How a marker that the engine's deserialisers put before a message maps to an error class.
enum Marked {
    Validation,
    Request,
    Serialization,
}

/// The engine's own list (`serde_errors`). The flag says whether serde's position belongs to the message.
const MARKERS: [(&str, Marked, bool); 5] = [
    ("SERIALIZATION_AS_READ:", Marked::Serialization, true),
    ("VALIDATION_AS_READ:", Marked::Validation, true),
    ("VALIDATION_REQUEST:", Marked::Request, false),
    ("SERIALIZATION:", Marked::Serialization, false),
    ("VALIDATION:", Marked::Validation, false),
];

/// Answers the request whose `x-amz-target` is `target`. Blocks while the engine works.
pub(super) fn answer(database: &Database, target: Option<&str>, body: &[u8]) -> Answer {
    let Some(operation) = target.and_then(|t| t.rsplit_once('.')).map(|(_, operation)| operation) else {
        return unknown_operation();
    };
    match run(database, operation, body) {
        None => unknown_operation(),
        Some(Ok(body)) => Answer { status: 200, body },
        Some(Err(error)) => {
            let error = resolve_request_class(operation, error);
            Answer { status: error.status_code(), body: error.to_json().into_bytes() }
        }
    }
}

/// An error in the protocol's form, for what never reaches the engine.
pub(super) fn refusal(status: u16, class: &str, message: &str) -> Answer {
    let body =
        serde_json::json!({ "__type": format!("com.amazon.coral.service#{class}"), "message": message });
    Answer { status, body: body.to_string().into_bytes() }
}

fn unknown_operation() -> Answer {
    refusal(400, "UnknownOperationException", "The embedded engine does not have this operation.")
}

/// `None` is an operation that the engine does not have. Streams and `PartiQL` are left out although it has them:
/// nothing here uses them, and streams turn each write into a full scan.
fn run(database: &Database, operation: &str, body: &[u8]) -> Option<Result<Vec<u8>, DynoxideError>> {
    Some(match operation {
        "BatchGetItem" => call(body, |request| database.batch_get_item(request)),
        "BatchWriteItem" => call(body, |request| database.batch_write_item(request)),
        "CreateTable" => call(body, |request| database.create_table(request)),
        "DeleteItem" => call(body, |request| database.delete_item(request)),
        "DeleteTable" => call(body, |request| database.delete_table(request)),
        "DescribeTable" => call(body, |request| database.describe_table(request)),
        "DescribeTimeToLive" => call(body, |request| database.describe_time_to_live(request)),
        "GetItem" => call(body, |request| database.get_item(request)),
        "ListTables" => call(body, |request| database.list_tables(request)),
        "PutItem" => call(body, |request| database.put_item(request)),
        "Query" => call(body, |request| database.query(request)),
        "Scan" => call(body, |request| database.scan(request)),
        "TransactGetItems" => call(body, |request| database.transact_get_items(request)),
        "TransactWriteItems" => call(body, |request| database.transact_write_items(request)),
        "UpdateItem" => call(body, |request| database.update_item(request)),
        "UpdateTable" => call(body, |request| database.update_table(request)),
        "UpdateTimeToLive" => call(body, |request| database.update_time_to_live(request)),
        _ => return None,
    })
}

fn call<Request: DeserializeOwned, Response: Serialize>(
    body: &[u8],
    operation: impl FnOnce(Request) -> Result<Response, DynoxideError>,
) -> Result<Vec<u8>, DynoxideError> {
    let request = serde_json::from_slice(body).map_err(|error| read_error(&error))?;
    serde_json::to_vec(&operation(request)?)
        .map_err(|error| DynoxideError::InternalServerError(error.to_string()))
}

/// The class that the engine's deserialisers marked, without the mark.
fn read_error(error: &serde_json::Error) -> DynoxideError {
    let message = error.to_string();
    for (marker, class, keeps_position) in MARKERS {
        let Some(rest) = message.strip_prefix(marker) else { continue };
        let rest = if keeps_position { rest } else { without_position(rest) }.to_owned();
        return match class {
            Marked::Validation => DynoxideError::ValidationException(rest),
            Marked::Request => DynoxideError::EnvelopedValidation(rest),
            Marked::Serialization => DynoxideError::SerializationException(rest),
        };
    }
    // An unmarked message is a missing or unknown field, which DynamoDB calls a validation error. A wrong JSON type
    // would be a serialisation error; the SDK cannot send one.
    DynoxideError::ValidationException(without_position(&message).to_owned())
}

fn without_position(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(text, _)| text)
}

/// Three operations report this class in an envelope, all others bare; the class itself is internal.
fn resolve_request_class(operation: &str, error: DynoxideError) -> DynoxideError {
    match error {
        DynoxideError::EnvelopedValidation(message)
            if matches!(operation, "PutItem" | "UpdateItem" | "DeleteItem") =>
        {
            DynoxideError::ValidationException(format!("1 validation error detected: {message}"))
        }
        DynoxideError::EnvelopedValidation(message) => DynoxideError::ValidationException(message),
        other => other,
    }
}
