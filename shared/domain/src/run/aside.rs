//! A run beside the conversation: it looks back at what was said, after a while in which nobody said more.
//!
//! It is born in the commit that ends the run behind which it looks, so neither is there without the other, and waits for its time
//! as every run does. It has no place in the thread: nobody waits for it, it holds nobody up, and it tells nothing. The conversation
//! counts up to which run somebody is to look ([`Conversation::to_remember`]) and did ([`Conversation::remembered`]): of a
//! burst of runs of one agent only the last one's is looked at, and what was not looked at is with that agent's next.

use std::time::Duration;

use super::{Birth, Change, Ending, Origin, Outcome, Phase, Run, RunKey, RunSpec, Seen, Totals, Written};
use crate::conversation::Conversation;
use crate::durable::{Due, Durable, Expect, Generation, Lane};
use crate::ids::RunId;
use crate::time::Timestamp;

/// How long it is tried when what it needs is not to be had.
pub const PATIENCE: Duration = Duration::from_hours(1);
/// In the place of a call, in its id: no model names one so.
const CALL: &str = "\0aside";

/// A look back that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Aside {
    /// What it is to do.
    pub spec: RunSpec,
    /// How long nobody must have said more.
    pub after: Duration,
}

impl Aside {
    /// The run that looks back behind that one, if it is looked back at.
    pub fn of(run: &RunKey) -> RunKey {
        run.beside(RunId::of_child(&run.id, CALL))
    }
}

/// The run that looks back at what was said up to `run`, which ends now.
pub(super) fn begin(run: &Run, aside: &Aside, now: Timestamp) -> (Written, Birth) {
    let key = Aside::of(&run.key);
    let id = key.id.clone();
    let at = now + aside.after;
    let new = Run {
        key,
        origin: Origin::Aside,
        ordinal: run.ordinal,
        phase: Phase::Pending,
        durable: Durable::waiting(Due { lane: Lane::Run, at }),
        checkpoints: 0,
        told: 0,
        children: 0,
        progressed: Generation::default(),
        until: Some(at + PATIENCE),
        totals: Totals::default(),
        created_at: now,
        updated_at: now,
    };
    let birth = Birth { run: id, spec: aside.spec.clone(), secrets: None, key: None };
    (Written { expect: Expect::Absent { owner: None }, run: new, expires: None }, birth)
}

/// It ends. Only one that ended well did look; nobody sees that the conversation notes it.
pub(super) fn end(change: &mut Change, ending: &Ending, seen: &Seen<'_>, now: Timestamp) {
    let ordinal = change.run.run.ordinal;
    let conversation = seen.conversation.filter(|seen| seen.remembered < ordinal);
    let Some(read) = conversation.filter(|_| ending.outcome == Outcome::Success) else { return };
    let after = Conversation { remembered: ordinal, ..read.clone() };
    let mut kept = Conversation::kept(Some(read), after, now);
    kept.conversation.updated_at = read.updated_at;
    change.conversation = Some(kept);
}
