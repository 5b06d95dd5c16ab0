//! What callers see of tasks and events (reference 8.2): never a server's name, a handle, driver data or a lease.

use jiff::Timestamp as Moment;
use pudu_app::framing;
use pudu_app::ports::{DeliveredEvent, Hint, ItemKey};
use pudu_app::tasks::{Detailed, Listed};
use pudu_domain::task::{Answer, Stand};
use pudu_domain::text::Snippet;
use pudu_domain::{Note, ThreadId, Timestamp};
use serde_json::{Value, json};

/// Most characters of an error in an answer.
const ERROR_CHARS: usize = 500;

/// A task in a list.
pub(crate) fn listed(row: &Listed) -> Value {
    let task = &row.task;
    json!({
        "task_id": task.key.id,
        "task_name": row.name,
        "status": task.status(),
        "created_at": moment(task.created_at),
        "updated_at": moment(task.updated_at),
        "error": task.error.as_ref().map(Snippet::as_str),
        "tracking_degraded": row.degraded,
        "cancel_requested": task.cancel.is_some(),
    })
}

/// How the newest notification of a task stands.
pub(crate) enum Notified {
    /// It is not kept any more, or there never was one.
    None,
    /// So.
    As(Box<Note>),
    /// Its row does not decode: it waits for an operator.
    Unreadable,
}

/// A task with everything it brought, and how its newest notification stands.
pub(crate) fn detailed(row: &Detailed, notified: &Notified) -> Value {
    let (note, word) = match notified {
        Notified::None => (None, "none"),
        Notified::As(note) => (Some(note), note.state.as_str()),
        Notified::Unreadable => (None, "corrupt"),
    };
    let (task, payload) = (&row.listed.task, &row.payload);
    let cancel = task.cancel.as_ref();
    let mut value = listed(&row.listed);
    let more = json!({
        "error": payload.error.as_deref().map(|error| error.chars().take(ERROR_CHARS).collect::<String>()),
        "last_polled_at": task.tracking.last_polled_at.map(moment),
        "last_poll_error": task.tracking.last_error.as_ref().map(Snippet::as_str),
        "last_cancel_error": cancel.and_then(|c| c.last_error.as_ref()).map(Snippet::as_str),
        "cancel_attempt_count": cancel.map_or(0, |c| c.attempts),
        "notification_status": word,
        "notification_error": note.and_then(|n| n.last_error.as_ref()).map(Snippet::as_str),
        "notification_attempt_count": note.map_or(0, |note| note.attempts),
        "result": payload.result,
        "result_preview": payload.result_preview,
        "result_truncated": payload.result_truncated,
        "result_artifact": payload.result_artifact,
        "input_required": payload.input_required,
        "input_answered": task.answer.as_ref().map(answered),
        "event_version": task.attention.version,
    });
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
    }
    value
}

/// How far the answer to the task's question got.
fn answered(answer: &Answer) -> Value {
    match &answer.stand {
        Stand::Waiting { attempts, last_error } => json!({
            "state": "waiting", "attempts": attempts, "error": last_error.as_ref().map(Snippet::as_str),
        }),
        Stand::Taken { at } => json!({ "state": "taken", "at": moment(*at) }),
        Stand::Refused(why) => json!({ "state": "refused", "error": why.as_str() }),
    }
}

/// A delivered event: its fields, and the text that tells a model of it.
pub(crate) fn delivered(thread: &ThreadId, told: &DeliveredEvent) -> Value {
    json!({
        "version": told.version,
        "delivered_at": moment(told.delivered_at),
        "event": told.event,
        "text": framing::framed(thread, &told.event),
    })
}

/// A dead letter, or one that was one: its address, and how it came to that.
pub(crate) fn dead_letter(note: &Note) -> Value {
    json!({
        "user": note.task.thread.user,
        "thread": note.task.thread.thread,
        "task_id": note.task.id,
        "version": note.version,
        "task_status": note.status,
        "notification_status": note.state.as_str(),
        "attempts": note.attempts,
        "error": note.last_error.as_ref().map(Snippet::as_str),
        "created_at": moment(note.created_at),
    })
}

/// Where a row is that does not decode, and since when it is aside.
pub(crate) fn corrupt_row(hint: &Hint) -> Value {
    let (kind, thread, task, version) = match &hint.key {
        ItemKey::Thread(thread) => ("thread", thread, None, None),
        ItemKey::Task(task) => ("task", &task.thread, Some(&task.id), None),
        ItemKey::Note(note) => ("notification", &note.task.thread, Some(&note.task.id), Some(note.version)),
    };
    json!({
        "kind": kind,
        "user": thread.user,
        "thread": thread.thread,
        "task_id": task,
        "version": version,
        "aside_since": moment(hint.due_at),
    })
}

/// ISO 8601, UTC.
fn moment(at: Timestamp) -> String {
    let millis = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
    Moment::from_millisecond(millis).unwrap_or(Moment::MAX).to_string()
}
