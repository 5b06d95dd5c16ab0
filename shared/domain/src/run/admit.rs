//! How a run begins: the one place that decides whether a thread takes it (agent reference 2.5).

use super::decide::{Ending, replaced, waiting};
use super::{Birth, Change, Origin, Outcome, Phase, Run, RunKey, RunSpec, Seen, Strategy, Totals, Written};
use crate::conversation::{Conversation, QUEUE, Status};
use crate::durable::{Due, Durable, Expect, Generation, Lane};
use crate::ids::{IdempotencyKey, RunId, ThreadKey};
use crate::policy::Policy;
use crate::time::Timestamp;

/// A run that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Admission {
    /// In which thread.
    pub thread: ThreadKey,
    /// Its id, if it is admitted.
    pub run: RunId,
    /// What its caller wants.
    pub spec: RunSpec,
    /// The sealed secrets of its caller.
    pub secrets: Option<String>,
    /// By what its caller repeats it, with the digest of the request.
    pub key: Option<(IdempotencyKey, String)>,
}

/// Why a run is not admitted. Nothing changes by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The thread has one.
    #[error(
        "the thread already has an active run; wait for it, cancel it, or use multitask_strategy interrupt, rollback or enqueue"
    )]
    Busy,
    /// Too many wait.
    #[error("{QUEUE} runs wait for this thread already; wait until some of them have ended")]
    QueueFull,
    /// What was read is not what the conversation says: read again.
    #[error("the conversation changed while it was read")]
    Stale,
}

/// What becomes of a conversation by a run that is wanted.
pub fn admit(wanted: Admission, seen: &Seen<'_>, now: Timestamp, policy: &Policy) -> Result<Change, Refused> {
    let Admission { thread, run: id, spec, secrets, key } = wanted;
    let mut after = seen
        .conversation
        .cloned()
        .unwrap_or_else(|| Conversation::new(thread.clone(), spec.scope.clone(), now));
    let (mut others, mut told, mut forget) = (Vec::new(), Vec::new(), Vec::new());
    let mut phase = Phase::Pending;
    if let Some(active) = &after.active {
        let active = seen.active.filter(|run| run.key.id == *active).ok_or(Refused::Stale)?;
        let ending = match spec.strategy {
            Strategy::Reject => return Err(Refused::Busy),
            Strategy::Enqueue if after.queue.len() >= QUEUE => return Err(Refused::QueueFull),
            Strategy::Enqueue => None,
            Strategy::Interrupt => Some(false),
            Strategy::Rollback => Some(true),
        };
        match ending {
            None => {
                after.queue.push(id.clone());
                phase = Phase::Queued;
            }
            Some(rolled_back) => {
                let why = Some("replaced by a newer run");
                let ending = Ending { rolled_back, ..Ending::new(Outcome::Interrupted, why) };
                let (written, notices) = replaced(active, &ending, now, policy);
                if !rolled_back {
                    after.head = active.head().or(after.head);
                }
                forget.push(active.key.id.clone());
                told.extend(notices);
                others.push(written);
            }
        }
    }
    after.runs = after.runs.saturating_add(1);
    after.scope = spec.scope.clone();
    after.assistant = after.assistant.or_else(|| Some(spec.assistant.clone()));
    let durable = if phase == Phase::Queued {
        Durable::default()
    } else {
        after.active = Some(id.clone());
        // One that takes the place of another has nothing to give back: that one was interrupted.
        let stands = Some(after.status).filter(|status| *status != Status::Busy);
        after.stood = if spec.operation.is_run() { None } else { after.stood.or(stands) };
        after.status = Status::Busy;
        Durable::waiting(Due { lane: Lane::Run, at: now })
    };
    let run = Run {
        key: RunKey { thread, id: id.clone() },
        origin: Origin::Lead,
        ordinal: after.runs,
        phase,
        durable,
        checkpoints: 0,
        told: 0,
        children: 0,
        progressed: Generation::default(),
        until: None,
        totals: Totals::default(),
        created_at: now,
        updated_at: now,
    };
    Ok(Change {
        run: Written { expect: Expect::Absent { owner: None }, run, expires: None },
        others,
        born: vec![Birth { run: id, spec, secrets, key }],
        conversation: Some(Conversation::kept(seen.conversation, after, now)),
        checkpoint: None,
        told,
        forget,
        kept_until: now + policy.retention,
    })
}

/// A child of `parent`, which its parent's commit begins.
pub(super) fn child(parent: &Run, id: RunId, call: String, until: Timestamp, now: Timestamp) -> Written {
    let run = Run {
        key: parent.key.beside(id),
        origin: Origin::Child { parent: parent.key.id.clone(), call },
        ordinal: parent.ordinal,
        phase: Phase::Pending,
        durable: Durable::waiting(waiting(now)),
        checkpoints: 0,
        told: 0,
        children: 0,
        progressed: Generation::default(),
        until: Some(until),
        totals: Totals::default(),
        created_at: now,
        updated_at: now,
    };
    Written { expect: Expect::Absent { owner: None }, run, expires: None }
}
