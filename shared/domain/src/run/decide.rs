//! The decision point of runs: every command that can meet one, and what comes of it.

use std::collections::BTreeSet;

use serde_json::json;

use super::admit::child;
use super::aside::{self, Aside};
use super::{
    Birth, Body, Change, Checkpoint, End, Notice, Origin, Outcome, Phase, Run, RunSpec, Source, StopReason,
    Told, Totals, Written,
};
use crate::conversation::{Conversation, Head, Status};
use crate::durable::{Due, Lane};
use crate::ids::RunId;
use crate::policy::Policy;
use crate::text::Snippet;
use crate::time::Timestamp;

/// Claims of a run that come to nothing, one after the other, before it is given up.
pub const ATTEMPTS: u64 = 5;

/// What was read beside the run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen<'a> {
    /// The conversation; needed by whatever begins or ends a run.
    pub conversation: Option<&'a Conversation>,
    /// The run that the conversation says is active.
    pub active: Option<&'a Run>,
    /// The run that has its turn next, if one waits.
    pub next: Option<&'a Run>,
    /// The parent, of a child.
    pub parent: Option<&'a Run>,
    /// Where the run began, if not where the conversation stood.
    pub base: Option<&'a Head>,
}

/// One step that was done: what it writes and tells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step {
    /// Its checkpoint; none for a step that only tells.
    pub body: Option<Body>,
    /// What made that, where it is neither a run's beginning nor a step of its loop.
    pub source: Option<Source>,
    /// What it tells.
    pub notices: Vec<Notice>,
    /// What it tells in its parent's name.
    pub to_parent: Vec<Notice>,
    /// What the run took so far; none if that has not changed.
    pub totals: Option<Totals>,
}

/// A child that begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Child {
    /// Its id.
    pub run: RunId,
    /// The id of the call that delegates.
    pub call: String,
    /// What it is to do.
    pub spec: RunSpec,
    /// When it is to be ended.
    pub until: Timestamp,
}

/// How a run ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// How.
    pub outcome: Outcome,
    /// What cut it short.
    pub stop_reason: Option<StopReason>,
    /// Why.
    pub error: Option<String>,
    /// Whether the thread is as it was before the run.
    pub rolled_back: bool,
    /// What the conversation is called from now on.
    pub title: Option<String>,
    /// How what was said is looked at again, if it is: behind a run that ended well.
    pub aside: Option<Box<Aside>>,
}

/// What somebody wants of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// A step was done, and the holder goes on until `lease`. By the holder.
    Advance {
        /// What it did.
        step: Step,
        /// Until when the holder keeps it.
        lease: Timestamp,
    },
    /// A step was done, and the run waits: for these children, which begin with it, or for `until` alone. By the holder.
    Park {
        /// What it did.
        step: Step,
        /// Children.
        children: Vec<Child>,
        /// When it goes on whatever has happened.
        until: Timestamp,
    },
    /// It cannot go on until then, for no fault of its own: the claim does not count as one that came to nothing. By the holder.
    Wait {
        /// When it is tried again.
        until: Timestamp,
    },
    /// The holder has no time left; another goes on at once. By the holder.
    HandOver,
    /// It has ended. By the holder.
    Finish {
        /// What its last step did.
        step: Step,
        /// How.
        ending: Ending,
    },
    /// It is to end now, whoever works on it. By anybody; fences the holder.
    Cancel(Ending),
    /// Something is told in its name. By anybody; the holder stays.
    Relay(Vec<Notice>),
}

/// A command that this run, as it stands, cannot take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// It has ended, and takes nothing.
    #[error("the run has ended")]
    Ended,
    /// The command is for the holder of a lease, and there is no lease.
    #[error("the command is for the holder of a lease, and nobody holds one")]
    NotHeld,
    /// What was read is not what the rows say: read again.
    #[error("the conversation changed while it was read")]
    Stale,
}

impl Ending {
    /// An end of that kind.
    pub fn new(outcome: Outcome, error: Option<&str>) -> Self {
        Self {
            outcome,
            stop_reason: None,
            error: error.map(str::to_owned),
            rolled_back: false,
            title: None,
            aside: None,
        }
    }
}

/// What becomes of `run` by `command` at `now`.
pub fn decide(
    run: &Run,
    command: Command,
    seen: &Seen<'_>,
    now: Timestamp,
    policy: &Policy,
) -> Result<Change, Rejected> {
    if run.end().is_some() {
        return Err(Rejected::Ended);
    }
    let anybodys = matches!(command, Command::Cancel(_) | Command::Relay(_));
    if !anybodys && run.durable.lease.is_none() {
        return Err(Rejected::NotHeld);
    }
    let mut change = Change {
        run: Written { expect: run.durable.held(), run: run.clone(), expires: None },
        others: Vec::new(),
        born: Vec::new(),
        conversation: None,
        checkpoint: None,
        told: Vec::new(),
        forget: Vec::new(),
        kept_until: now + policy.retention,
    };
    change.run.run.updated_at = now;
    match command {
        Command::Advance { step, lease } => {
            change.run.run.durable = run.durable.kept(lease);
            change.run.run.phase = Phase::Running;
            take(&mut change, step, seen, now);
        }
        Command::Park { step, children, until } => {
            let open: BTreeSet<RunId> = children.iter().map(|child| child.run.clone()).collect();
            change.run.run.children =
                run.children.saturating_add(u32::try_from(children.len()).unwrap_or(u32::MAX));
            for Child { run: id, call, spec, until } in children {
                change.others.push(child(run, id.clone(), call, until, now));
                change.born.push(Birth { run: id, spec, secrets: None, key: None });
            }
            change.run.run.phase = Phase::Parked { open };
            change.run.run.durable = run.durable.committed(Some(Due { lane: Lane::Run, at: until }));
            take(&mut change, step, seen, now);
        }
        Command::Wait { until } => {
            change.run.run.durable = run.durable.committed(Some(Due { lane: Lane::Run, at: until }));
            change.run.run.progressed = run.durable.generation;
        }
        Command::HandOver => {
            change.run.run.durable = run.durable.committed(Some(waiting(now)));
        }
        Command::Finish { step, ending } => {
            change.run.run.durable = run.durable.committed(None);
            take(&mut change, step, seen, now);
            finish(&mut change, &ending, seen, now, policy)?;
        }
        Command::Cancel(ending) => {
            change.run.expect = run.durable.unchanged();
            change.run.run.durable = run.durable.fenced(None);
            finish(&mut change, &ending, seen, now, policy)?;
        }
        Command::Relay(notices) => {
            change.run.expect = run.durable.unchanged();
            change.run.run.durable = run.durable.woken();
            tell(&mut change.run.run, notices, now, &mut change.told);
        }
    }
    Ok(change)
}

/// Due now.
pub(super) const fn waiting(now: Timestamp) -> Due {
    Due { lane: Lane::Run, at: now }
}

/// Writes down what a step did.
fn take(change: &mut Change, step: Step, seen: &Seen<'_>, now: Timestamp) {
    let run = &mut change.run.run;
    if let Some(body) = step.body {
        let is_first = run.checkpoints == 0;
        let source = step.source.unwrap_or(if is_first { Source::Input } else { Source::Loop });
        let before = seen.conversation.filter(|_| is_first && run.origin == Origin::Lead);
        let began = seen.base.filter(|_| is_first && run.origin == Origin::Lead).cloned();
        let parent = began.or_else(|| before.and_then(|conversation| conversation.head.clone()));
        let (key, number) = (run.key.clone(), run.checkpoints);
        change.checkpoint = Some(Checkpoint { run: key, number, at: now, source, parent, body });
        run.checkpoints = run.checkpoints.saturating_add(1);
        run.progressed = run.durable.generation;
    }
    if let Some(totals) = step.totals {
        run.totals = totals;
    }
    tell(run, step.notices, now, &mut change.told);
    if !step.to_parent.is_empty()
        && let Some(parent) = parent_of(run, seen)
    {
        let mut after = Run { durable: parent.durable.woken(), updated_at: now, ..parent.clone() };
        tell(&mut after, step.to_parent, now, &mut change.told);
        change.others.push(Written { expect: parent.durable.unchanged(), run: after, expires: None });
    }
}

/// Numbers what a run tells. One beside the conversation tells nothing. A child has no place of its own in the thread's history: what
/// belongs there it tells in its parent's name, and its own records, which would stand under the ordinal and the numbers of its
/// parent, are left out.
fn tell(run: &mut Run, mut notices: Vec<Notice>, now: Timestamp, told: &mut Vec<Told>) {
    match run.origin {
        Origin::Lead => {}
        Origin::Child { .. } => notices.retain(|notice| !matches!(notice, Notice::Record { .. })),
        Origin::Aside => notices.clear(),
    }
    for notice in notices {
        run.told = run.told.saturating_add(1);
        told.push(Told { run: run.key.clone(), ordinal: run.ordinal, seq: run.told, at: now, notice });
    }
}

/// The parent, as long as it has not ended.
fn parent_of<'a>(run: &Run, seen: &Seen<'a>) -> Option<&'a Run> {
    let Origin::Child { parent, .. } = &run.origin else { return None };
    seen.parent.filter(|seen| seen.key.id == *parent && seen.end().is_none())
}

/// The run of `change` ends, and whoever waits for that has his turn.
fn finish(
    change: &mut Change,
    ending: &Ending,
    seen: &Seen<'_>,
    now: Timestamp,
    policy: &Policy,
) -> Result<(), Rejected> {
    change.forget.push(change.run.run.key.id.clone());
    change.run.expires = Some(now + policy.retention);
    let notices = close(&mut change.run.run, ending, now);
    tell(&mut change.run.run, notices, now, &mut change.told);
    match change.run.run.origin {
        Origin::Lead => pass_on(change, ending, seen, now),
        Origin::Child { .. } => {
            report(change, seen, now);
            Ok(())
        }
        Origin::Aside => {
            aside::end(change, ending, seen, now);
            Ok(())
        }
    }
}

/// Sets the end, and says what is told of it.
fn close(run: &mut Run, ending: &Ending, now: Timestamp) -> Vec<Notice> {
    let error = ending.error.as_deref().map(Snippet::of);
    run.phase =
        Phase::Ended(End { outcome: ending.outcome, stop_reason: ending.stop_reason, error, at: now });
    let status = ending.outcome.as_str();
    let stop_reason = ending.stop_reason.map(StopReason::as_str);
    let failed = matches!(ending.outcome, Outcome::Error | Outcome::Timeout);
    let ended = json!({ "status": status, "stop_reason": stop_reason, "error": ending.error });
    let mut notices = vec![Notice::Record {
        event_type: if failed { "run.error" } else { "run.end" }.to_owned(),
        category: if failed { "error" } else { "trace" }.to_owned(),
        content: ended.clone(),
        metadata: if ending.rolled_back { json!({ "rolled_back": true }) } else { json!({}) },
    }];
    if failed {
        let message = ending.error.as_deref().unwrap_or("the run failed");
        let data = json!({ "message": message, "name": "RunError" });
        notices.push(Notice::Frame { event: "error".to_owned(), data });
    }
    notices.push(Notice::Frame { event: "end".to_owned(), data: ended });
    notices
}

/// The end of a run that another takes the place of.
pub(super) fn replaced(run: &Run, ending: &Ending, now: Timestamp, policy: &Policy) -> (Written, Vec<Told>) {
    let mut after = Run { durable: run.durable.fenced(None), updated_at: now, ..run.clone() };
    let mut told = Vec::new();
    let notices = close(&mut after, ending, now);
    tell(&mut after, notices, now, &mut told);
    let expires = Some(now + policy.retention);
    (Written { expect: run.durable.unchanged(), run: after, expires }, told)
}

/// The thread goes to the run that waits for it, if one does.
fn pass_on(change: &mut Change, ending: &Ending, seen: &Seen<'_>, now: Timestamp) -> Result<(), Rejected> {
    let run = &change.run.run;
    let Some(conversation) = seen.conversation else { return Err(Rejected::Stale) };
    let mut after = conversation.clone();
    if let Some(title) = &ending.title {
        after.title = Some(title.clone());
    }
    if after.active.as_ref() == Some(&run.key.id) {
        if !ending.rolled_back {
            after.head = run.head().or(after.head);
        }
        after.active = None;
        if let Some(wanted) = ending.aside.as_deref().filter(|_| ending.outcome == Outcome::Success) {
            let (written, birth) = aside::begin(run, wanted, now);
            after.to_remember = run.ordinal;
            change.others.push(written);
            change.born.push(birth);
        }
        after.status = after.stood.take().unwrap_or(match ending.outcome {
            Outcome::Success => Status::Idle,
            Outcome::Interrupted => Status::Interrupted,
            Outcome::Error | Outcome::Timeout => Status::Error,
        });
        if let Some(id) = after.queue.first().cloned() {
            let next = seen.next.filter(|next| next.key.id == id).ok_or(Rejected::Stale)?;
            after.queue.remove(0);
            after.active = Some(id);
            after.status = Status::Busy;
            let durable = next.durable.fenced(Some(waiting(now)));
            let begun = Run { phase: Phase::Pending, durable, updated_at: now, ..next.clone() };
            change.others.push(Written { expect: next.durable.unchanged(), run: begun, expires: None });
        }
    } else {
        after.queue.retain(|id| *id != run.key.id);
    }
    change.conversation = Some(Conversation::kept(Some(conversation), after, now));
    Ok(())
}

/// The parent hears that its child has ended.
fn report(change: &mut Change, seen: &Seen<'_>, now: Timestamp) {
    let id = change.run.run.key.id.clone();
    let Some(parent) = parent_of(&change.run.run, seen) else { return };
    let told = change.others.iter_mut().find(|other| other.run.key == parent.key);
    let mut after = told.as_ref().map_or_else(|| parent.clone(), |told| told.run.clone());
    let Phase::Parked { open } = &mut after.phase else { return };
    open.remove(&id);
    let due = if open.is_empty() { Some(waiting(now)) } else { after.durable.due };
    after.durable = crate::durable::Durable { due, ..parent.durable.woken() };
    after.updated_at = now;
    let written = Written { expect: parent.durable.unchanged(), run: after, expires: None };
    match told {
        Some(told) => *told = written,
        None => change.others.push(written),
    }
}
