//! Runners and stores that break one rule of the protocol, as wrappers at the ports. Each must break a promise in the simulation.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pudu_app::deadline::Deadline;
use pudu_app::ports::{
    Applied, BlobError, Blobs, ItemKey, Launch, LaunchError, LookUpError, RunLauncher, RunStatus, RunStore,
    StoreError,
};
use pudu_app::runs::Launcher;
use pudu_app::wiring::Wiring;
use pudu_app::worker::{Ran, Work};
use pudu_domain::chat::Speaker;
use pudu_domain::run::{Birth, Body, Change, Checkpoint, Notice, Origin, Outcome, Phase, Written};
use pudu_domain::state::Write;
use pudu_domain::{Due, Expect, Lane, RunId, ThreadKey, Timestamp};
use pudu_testkit::mutant::{Rule, Ruled, RunMutant};

use super::witness::Witness;

/// One broken rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A store of runs that breaks one.
    Store(RunMutant),
    /// A run that is parked is due for nobody.
    ParksForEver,
    /// A cancel is confirmed and not made.
    CancelsNothing,
    /// An admission is confirmed and not made.
    AdmitsNothing,
    /// A run that has ended is due as before.
    EndsStayDue,
    /// What a model says is told twice.
    SpeaksTwice,
    /// A state is shown twice.
    ShowsTwice,
    /// A stream ends twice.
    EndsTwice,
    /// A call that delegates begins two children.
    BeginsTwice,
    /// Whoever takes a run up from another lets it fail.
    FailsOthers,
    /// A conversation stands nowhere behind a run that ended well.
    ForgetsHeads,
    /// Each answer of a tool stands twice.
    AnswersTwice,
    /// A run that tells an event has told it as soon as it has begun.
    BelievesTooEarly,
    /// The blobs of a deleted thread stay.
    KeepsBlobs,
    /// Whoever works on a run has more time than he has.
    Overstays,
}

impl Fault {
    /// Who begins runs for events, if that is what is broken.
    pub(super) fn launcher(fault: Option<Self>, wiring: &Wiring) -> Option<Arc<dyn RunLauncher>> {
        let believes = fault == Some(Self::BelievesTooEarly);
        believes.then(|| -> Arc<dyn RunLauncher> { Arc::new(Believing(Launcher::new(wiring.runs()))) })
    }

    /// Where blobs are.
    pub(super) fn blobs(fault: Option<Self>, blobs: Arc<dyn Blobs>) -> Arc<dyn Blobs> {
        if fault == Some(Self::KeepsBlobs) { Arc::new(Keeping(blobs)) } else { blobs }
    }

    /// Who works on runs.
    pub(super) fn runner(fault: Option<Self>, runner: Arc<dyn Work>) -> Arc<dyn Work> {
        if fault == Some(Self::Overstays) { Arc::new(Overstaying(runner)) } else { runner }
    }

    /// The change as it is written.
    fn alter(self, mut change: Change) -> Change {
        let row = &mut change.run.run;
        match self {
            Self::ParksForEver if matches!(row.phase, Phase::Parked { .. }) => row.durable.due = None,
            Self::EndsStayDue if row.end().is_some() => {
                row.durable.due = Some(Due { lane: Lane::Run, at: row.updated_at });
            }
            Self::SpeaksTwice => again(&mut change, |notice| is_frame(notice, "messages")),
            Self::ShowsTwice => again(&mut change, |notice| matches!(notice, Notice::Values { .. })),
            Self::EndsTwice => again(&mut change, |notice| is_frame(notice, "end")),
            Self::FailsOthers if row.durable.generation.number() > 1 => {
                if let Phase::Ended(end) = &mut row.phase {
                    end.outcome = Outcome::Error;
                }
            }
            Self::BeginsTwice => twins(&mut change),
            Self::ForgetsHeads if row.end().is_some_and(|end| end.outcome == Outcome::Success) => {
                if let Some(kept) = &mut change.conversation {
                    kept.conversation.head = None;
                }
            }
            Self::AnswersTwice => {
                if let Some(Checkpoint { body: Body::Delta(writes), .. }) = &mut change.checkpoint {
                    let answers = writes.iter().filter_map(|write| match write {
                        Write::Message(message) if message.speaker == Speaker::Tool => {
                            let mut twin = message.clone();
                            twin.id = format!("{}-again", twin.id);
                            Some(Write::Message(twin))
                        }
                        _ => None,
                    });
                    let answers: Vec<Write> = answers.collect();
                    writes.extend(answers);
                }
            }
            _ => {}
        }
        change
    }

    /// Whether that is confirmed and not written.
    fn swallows(self, change: &Change) -> bool {
        let (ends, admission) = (change.run.run.end().is_some(), is_new(&change.run));
        match self {
            Self::CancelsNothing => ends && matches!(change.run.expect, Expect::Unchanged { .. }),
            Self::AdmitsNothing => admission,
            _ => false,
        }
    }
}

fn is_frame(notice: &Notice, name: &str) -> bool {
    matches!(notice, Notice::Frame { event, .. } if event == name)
}

/// Begins each child once more, under another id.
fn twins(change: &mut Change) {
    let begins = |written: &Written| matches!(written.run.origin, Origin::Child { .. }) && is_new(written);
    let children: Vec<Written> = change.others.iter().filter(|written| begins(written)).cloned().collect();
    for mut twin in children {
        let id = RunId::of_child(&twin.run.key.id, "twin");
        let birth = change.born.iter().find(|birth| birth.run == twin.run.key.id).cloned();
        change.born.extend(birth.map(|birth| Birth { run: id.clone(), ..birth }));
        twin.run.key.id = id;
        change.others.push(twin);
    }
}

fn is_new(written: &Written) -> bool {
    matches!(written.expect, Expect::Absent { .. })
}

/// Tells these things twice, and the rest behind them.
fn again(change: &mut Change, is_told_twice: impl Fn(&Notice) -> bool) {
    let mine = change.run.run.key.clone();
    let mut told = Vec::with_capacity(change.told.len());
    let mut ahead = 0;
    for mut one in std::mem::take(&mut change.told) {
        if one.run != mine {
            told.push(one);
            continue;
        }
        one.seq += ahead;
        let twice = is_told_twice(&one.notice);
        told.push(one.clone());
        if twice {
            ahead += 1;
            one.seq += 1;
            told.push(one);
        }
    }
    change.told = told;
    change.run.run.told += ahead;
}

/// A process's way to the runs: what it writes is witnessed, and altered where something is broken.
pub(super) fn watched(inner: Arc<dyn RunStore>, witness: Witness, fault: Option<Fault>) -> Arc<dyn RunStore> {
    let inner = match fault {
        Some(Fault::Store(mutant)) => mutant.runs(inner),
        _ => inner,
    };
    Arc::new(Ruled::new(inner, Watched { witness, fault }))
}

struct Watched {
    witness: Witness,
    fault: Option<Fault>,
}

#[async_trait]
impl Rule for Watched {
    async fn commit(&self, inner: &dyn RunStore, change: &Change) -> Result<Applied, StoreError> {
        self.witness.is_wanted(change);
        if self.fault.is_some_and(|fault| fault.swallows(change)) {
            return Ok(Applied::Done);
        }
        let altered = self.fault.map(|fault| fault.alter(change.clone()));
        let change = altered.as_ref().unwrap_or(change);
        let applied = inner.commit(change).await?;
        self.witness.was_written(change, &applied).await;
        Ok(applied)
    }
}

struct Believing(Launcher);

#[async_trait]
impl RunLauncher for Believing {
    async fn launch(&self, launch: Launch) -> Result<RunId, LaunchError> {
        self.0.launch(launch).await
    }

    async fn status(&self, thread: &ThreadKey, run: &RunId) -> Result<Option<RunStatus>, LookUpError> {
        let status = self.0.status(thread, run).await?;
        Ok(status.map(|_| RunStatus::Succeeded))
    }
}

struct Keeping(Arc<dyn Blobs>);

#[async_trait]
impl Blobs for Keeping {
    async fn put(&self, thread: &ThreadKey, digest: &str, bytes: Vec<u8>) -> Result<(), BlobError> {
        self.0.put(thread, digest, bytes).await
    }

    async fn get(&self, thread: &ThreadKey, digest: &str) -> Result<Option<Vec<u8>>, BlobError> {
        self.0.get(thread, digest).await
    }

    async fn remove_all(&self, _: &ThreadKey) -> Result<(), BlobError> {
        Ok(())
    }
}

struct Overstaying(Arc<dyn Work>);

#[async_trait]
impl Work for Overstaying {
    fn lanes(&self) -> &'static [Lane] {
        self.0.lanes()
    }

    async fn run(&self, lane: Lane, key: &ItemKey, deadline: Deadline) -> Ran {
        let more = deadline.remaining(Timestamp::default()) + Duration::from_hours(1);
        self.0.run(lane, key, Deadline::at(Timestamp::default() + more)).await
    }
}
