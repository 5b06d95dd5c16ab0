//! What the tasks of the specification have in common, in both of its revisions: a task object, read strictly, and what comes of
//! a failed call.
//!
//! Pure. A message names a field and a rule, never a value: what a server says may hold anything.

use std::time::Duration;

use pudu_app::ports::{CallError, CallFault, DriverError, SubmitError, Submits};
use pudu_config::Toolset;
use pudu_domain::{Snapshot, Status};
use serde_json::{Map, Value, json};

use crate::redact::Redactor;

/// The codes by which a server says that it has no such task: it never did, or its time is over. The specification has the first
/// one, for both revisions; some servers take that of a missing resource.
const NO_SUCH_TASK: [i64; 2] = [-32602, -32002];
/// What the task then says, in the words of reference 6.10.
const NOT_FOUND: &str = "the remote task was not found";
/// A pause is never longer than the part of a task's time that this divides it into: its end must be seen before it is forgotten.
const OF_ITS_TIME: u32 = 2;
/// What is left of a task's time asks for no shorter pause than this: a time that is over at once, with a task that goes on,
/// would have it asked for without a pause.
const LEAST: Duration = Duration::from_secs(1);
/// Pauses up to this are asked for when a task's time is short; without a reason the schedule's own pause is right.
const SHORT: Duration = Duration::from_secs(10);

/// The raw name of the tool that a task's call was of: what a task of these drivers remembers.
pub(crate) fn data(by: Submits<'_>) -> Value {
    match by {
        Submits::Tool(tool) => json!({ "tool": tool }),
        // Three tools of which each is a plain call: reading this back says what is missing.
        Submits::Toolset(Toolset { .. }) => Value::Null,
    }
}

/// Reads it back.
pub(crate) fn tool(data: &Value) -> Result<&str, String> {
    let name = data.get("tool").and_then(Value::as_str).filter(|name| !name.is_empty());
    name.ok_or_else(|| "driver data has no 'tool'; submit again".to_owned())
}

/// Whether an error with this code says that there is no such task.
pub(crate) fn is_no_such_task(code: i64) -> bool {
    NO_SUCH_TASK.contains(&code)
}

/// The end of a task that its server does not have (any more).
pub(crate) fn not_found() -> Snapshot {
    Snapshot { error: Some(NOT_FOUND.to_owned()), ..Snapshot::bare(Status::Failed) }
}

/// A call that failed. One that certainly began nothing, or that ended, is told as a plain call's failure.
pub(crate) fn unsent(error: CallError) -> SubmitError {
    match error.fault {
        CallFault::NotSent
        | CallFault::Refused
        | CallFault::Config
        | CallFault::Denied
        | CallFault::Violation => SubmitError::Call(error),
        CallFault::Timeout | CallFault::Broken | CallFault::Protocol => {
            SubmitError::Unknown(error.to_string())
        }
    }
}

/// A request about a task that failed: worth another try.
pub(crate) fn again(error: &CallError) -> DriverError {
    DriverError::Retry(error.to_string())
}

/// A result that is not what its tool declares, or of which nobody can say.
pub(crate) fn unusable(error: &CallError) -> DriverError {
    match error.fault {
        CallFault::Violation => DriverError::Violation(error.to_string()),
        _ => DriverError::Retry(error.to_string()),
    }
}

/// How long to wait before the next question: what the server asks for, as long as the task surely lives until then.
pub(crate) fn pause(asked: Option<Duration>, lives: Option<Duration>) -> Option<Duration> {
    let most = lives.filter(|time| !time.is_zero()).map(|time| (time / OF_ITS_TIME).max(LEAST));
    match (asked, most) {
        (Some(asked), Some(most)) => Some(asked.min(most)),
        (None, Some(most)) => Some(most).filter(|most| *most < SHORT),
        (asked, None) => asked,
    }
}

/// A task object in an answer.
pub(crate) struct Told<'r> {
    /// What was asked, for messages.
    method: &'static str,
    fields: &'r Map<String, Value>,
}

impl<'r> Told<'r> {
    /// Reads `task`.
    pub(crate) fn of(method: &'static str, task: &'r Value) -> Result<Self, String> {
        match task {
            Value::Object(fields) => Ok(Self { method, fields }),
            _ => Err(format!("the server answered '{method}' with a task that is not an object")),
        }
    }

    /// A message about one field: `rule` goes on from its name.
    pub(crate) fn wrong(&self, field: &str, rule: &str) -> String {
        format!("the server answered '{}' against the task protocol: {field} {rule}", self.method)
    }

    /// A field; null counts as missing.
    pub(crate) fn given(&self, field: &str) -> Option<&'r Value> {
        self.fields.get(field).filter(|value| !value.is_null())
    }

    /// A text, if it is there.
    pub(crate) fn text(&self, field: &str) -> Result<Option<&'r str>, String> {
        match self.given(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(field, "must be a string")),
        }
    }

    /// An object that must be there.
    pub(crate) fn object(&self, field: &str, because: &str) -> Result<&'r Map<String, Value>, String> {
        match self.given(field) {
            Some(Value::Object(object)) => Ok(object),
            Some(_) => Err(self.wrong(field, "must be an object")),
            None => Err(self.wrong(field, because)),
        }
    }

    /// A count of milliseconds, if it is there: a number, whole and not negative, and nothing that only looks like one.
    pub(crate) fn millis(&self, field: &str) -> Result<Option<Duration>, String> {
        let Some(value) = self.given(field) else { return Ok(None) };
        let whole = value.as_u64().map(Duration::from_millis);
        // JSON has one kind of number: 1000.0 is as whole as 1000. What is past a duration saturates; the schedule caps it anyway.
        let float = || {
            let millis = value.as_f64().filter(|millis| *millis >= 0.0 && millis.fract() == 0.0)?;
            Some(Duration::try_from_secs_f64(millis / 1000.0).unwrap_or(Duration::MAX))
        };
        let read = whole.or_else(float);
        read.map(Some).ok_or_else(|| self.wrong(field, "must be a whole number of milliseconds, 0 or more"))
    }

    /// How long to wait, by the fields of these names. A pause of 0 asks for none in particular.
    pub(crate) fn pause(&self, poll: &str, ttl: &str) -> Result<Option<Duration>, String> {
        let asked = self.millis(poll)?.filter(|asked| !asked.is_zero());
        Ok(pause(asked, self.millis(ttl)?))
    }

    /// Where the task stands.
    pub(crate) fn status(&self) -> Result<Status, String> {
        match self.text("status")? {
            Some("working") => Ok(Status::Working),
            Some("input_required") => Ok(Status::InputRequired),
            Some("completed") => Ok(Status::Completed),
            Some("failed") => Ok(Status::Failed),
            Some("cancelled") => Ok(Status::Cancelled),
            _ => Err(self.wrong("status", "must be working, input_required, completed, failed or cancelled")),
        }
    }

    /// The handle of a new task.
    pub(crate) fn handle(&self) -> Result<&'r str, String> {
        match self.text("taskId")? {
            Some(handle) if !handle.is_empty() => Ok(handle),
            _ => Err(self.wrong("taskId", "must be a non-empty string")),
        }
    }

    /// The handle must be the one that was asked about, exactly.
    pub(crate) fn same_task(&self, handle: &str) -> Result<(), String> {
        match self.text("taskId")? {
            None => Err(self.wrong("taskId", "is missing")),
            Some(given) if given == handle => Ok(()),
            Some(_) => Err(self.wrong("taskId", "does not match the task's")),
        }
    }
}

/// What a JSON-RPC error inside an answer says, as it may be shown.
pub(crate) fn error_text(error: &Map<String, Value>, redactor: &Redactor) -> Result<String, &'static str> {
    let code = error.get("code").and_then(Value::as_i64).ok_or("must have a code that is an integer")?;
    match error.get("message") {
        Some(Value::String(message)) if message.trim().is_empty() => Ok(format!("error {code}")),
        Some(Value::String(message)) => Ok(redactor.masked(message)),
        _ => Err("must have a message that is a string"),
    }
}

#[cfg(test)]
pub(crate) mod tests;
