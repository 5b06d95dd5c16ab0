//! The promises about answers: what its giver was told of stands until the server has it or its question is gone, and nobody
//! hands it over again without having looked.

use std::collections::BTreeMap;

use pudu_domain::task::{Answer, Phase, State};
use pudu_domain::{Status, Task, TaskKey};

use super::{ANSWER_STANDS, Findings, ONE_ANSWER};
use crate::server::{Asked, RemoteTask, Request};
use crate::sim::ops::Submission;
use crate::table::Write;

/// What was written about answers keeps to what their givers were told.
pub(super) fn they_stand(writes: &[Write], ops: &BTreeMap<u64, Submission>, found: &mut Findings) {
    // A table that does not log its writes shows nothing of this.
    if writes.is_empty() {
        return;
    }
    let mut images: BTreeMap<&TaskKey, Vec<&Task>> = BTreeMap::new();
    for task in writes.iter().filter_map(|write| write.task.as_deref()) {
        images.entry(&task.key).or_default().push(task);
    }
    for key in ops.values().flat_map(|op| op.answered.iter()) {
        let answered = images.get(key).is_some_and(|images| images.iter().any(|task| task.answer.is_some()));
        if !answered {
            found.add(ANSWER_STANDS, format!("{} was never answered", key.id));
        }
    }
    for (key, images) in images {
        for (before, after) in images.iter().zip(images.iter().skip(1)) {
            let waited = before.answer.as_ref().is_some_and(Answer::is_waiting);
            // A task that is to be cancelled needs no answer any more.
            let asks = matches!(after.state, State::Active { phase: Phase::InputRequired, .. })
                && after.cancel.is_none();
            if waited && asks && after.answer.is_none() && after.payload == before.payload {
                found.add(ANSWER_STANDS, format!("{} lost its answer while its question stood", key.id));
            }
        }
    }
}

/// After an answer that the server took it gets another one only when it was asked whether its question stands, and it did.
pub(super) fn they_are_not_repeated(remote: &[RemoteTask], asked: &[Asked], found: &mut Findings) {
    for task in remote {
        // Of two tasks with one handle the server answers for the first.
        if remote.iter().filter(|other| other.handle == task.handle).count() > 1 {
            continue;
        }
        let mut handed_over = false;
        for asked in asked.iter().filter(|asked| asked.handle == task.handle) {
            match (asked.what, asked.answer) {
                (Request::Answer, _) if handed_over => {
                    found.add(ONE_ANSWER, format!("{} was answered again at {:?}", task.handle, asked.at));
                }
                // One that was refused may be given anew.
                (Request::Answer, taken) => handed_over = taken.is_some(),
                (Request::Status, Some(Status::InputRequired)) => handed_over = false,
                _ => {}
            }
        }
    }
}
