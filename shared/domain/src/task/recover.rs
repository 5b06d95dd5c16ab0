//! Recovery of an intent whose submitter never came back: its outcome is unknown, and the thread is told so.

use super::decide::{Context, Draft};
use super::{Change, Outcome, Task};
use crate::payload::Payload;
use crate::time::Timestamp;

/// What the thread reads about such a task.
pub(super) const OUTCOME_UNKNOWN: &str = "submission outcome unknown: the submitter stopped before the server's answer was recorded; the task may be running at the server";

/// Ends the task: as cancelled if that was asked for, else as failed.
pub(super) fn recover(task: &Task, now: Timestamp, context: Context<'_>) -> Change {
    let mut draft = Draft::of(task, now);
    let outcome = if task.cancel.is_some() { Outcome::Cancelled } else { Outcome::Failed };
    draft.end(outcome, now, context);
    draft.carry(Payload::of_error(OUTCOME_UNKNOWN));
    draft.commit(task, now, context)
}
