//! One claim of a run: the run as it is held, its state, and the one way in which a step becomes true.

use std::sync::Arc;
use std::time::Duration;

use pudu_app::catalog;
use pudu_app::chain::Chain;
use pudu_app::deadline::Deadline;
use pudu_app::ports::{Applied, Background, StoreError, Wake};
use pudu_app::runs::checkpoints::CheckpointError;
use pudu_app::runs::{EDIT, REPLAY_KIND};
use pudu_app::worker::Ran;
use pudu_domain::chat::Message;
use pudu_domain::run::{
    ATTEMPTS, Body, Change, Command, Ending, Notice, Operation, Origin, Outcome, Rejected, SNAPSHOT_EVERY,
    Seen, Step, StopReason, decide,
};
use pudu_domain::state::State;
use pudu_domain::{Conversation, Run, RunSpec, Timestamp};

use super::progress::{NAME, Next, Progress, next};
use super::{Parts, RESERVE};
use crate::middleware::Middleware;
use crate::options::Options;
use crate::subagents;
use crate::turn::{self, Turn};

/// How often a step is decided again because rows changed beside it.
const DECISIONS: usize = 8;
/// When a run is tried again that could not go on for no fault of its own.
const LATER: Duration = Duration::from_secs(30);

/// Why a claim goes on no further.
#[derive(Debug)]
pub(super) enum Stop {
    /// The run is not held any more: cancelled, replaced, or claimed by another.
    Gone,
    /// The invocation has no time left.
    Late,
    /// What it needs to go on is not to be had for now.
    Unready,
    /// The run is to end like this.
    End(Ending),
    /// The table failed; the run is claimed again when the lease is over.
    Store(StoreError),
}

/// Whether there is another step.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Did {
    /// There is.
    On,
    /// The run ended or was parked.
    Left,
}

/// One claim.
pub(super) struct Session {
    pub(super) parts: Arc<Parts>,
    /// As it was claimed or last committed.
    pub(super) run: Run,
    pub(super) spec: Arc<RunSpec>,
    pub(super) options: Arc<Options>,
    pub(super) state: State,
    /// The tools of servers that its user may call, as they were when it was claimed.
    pub(super) listed: Vec<Arc<catalog::Tool>>,
    pub(super) deadline: Deadline,
}

/// The rows that a decision needs beside the run.
#[derive(Default)]
struct Beside {
    conversation: Option<Conversation>,
    next: Option<Run>,
    parent: Option<Run>,
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<CheckpointError> for Stop {
    fn from(error: CheckpointError) -> Self {
        match error {
            CheckpointError::Store(error) => Self::Store(error),
            CheckpointError::Blob(error) => {
                Self::Store(StoreError::Unavailable { operation: "reading a state", source: error.into() })
            }
            broken => Self::End(Ending::new(Outcome::Error, Some(&broken.to_string()))),
        }
    }
}

impl Session {
    pub(super) fn new(parts: Arc<Parts>, run: Run, spec: RunSpec, deadline: Deadline) -> Self {
        let options = Arc::new(Options::read(&spec.options));
        Self {
            parts,
            run,
            spec: Arc::new(spec),
            options,
            state: State::default(),
            listed: Vec::new(),
            deadline,
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.parts.clock.now()
    }

    /// Until when a commit of now holds the run: always later than the one before, by which it is known.
    pub(super) fn lease(&self) -> Timestamp {
        let before = self.run.durable.lease.as_ref().map_or_else(Timestamp::default, |lease| lease.until);
        (self.now() + self.parts.limits.lease).max(before + Duration::from_millis(1))
    }

    /// What stands around its steps.
    pub(super) fn chain(&self) -> &[Arc<dyn Middleware>] {
        if self.spec.subagent.is_some() { &self.parts.subagent } else { &self.parts.lead }
    }

    /// Step after step.
    pub(super) async fn go_on(&mut self) -> Result<(), Stop> {
        if self.run.attempts() > ATTEMPTS {
            let why = format!(
                "the run was begun {ATTEMPTS} times without getting a step further; its worker was stopped or failed each time"
            );
            return Err(Stop::End(Ending::new(Outcome::Error, Some(&why))));
        }
        self.restore().await?;
        self.orphaned().await?;
        self.overdue()?;
        self.furnish().await?;
        if let Operation::Compact(compaction) = self.spec.operation {
            return self.compact(compaction).await;
        }
        loop {
            self.overdue()?;
            if self.deadline.remaining(self.now()) < RESERVE {
                return Err(Stop::Late);
            }
            // An answer of the table may have come late: whoever does the step again that somebody else has done calls for nothing.
            self.prolong().await?;
            let next = next(&self.run, &self.state);
            if Progress::of(&self.state).is_exhausted(&next, &self.state, self.limit()) {
                return Err(Stop::End(self.cut_short()));
            }
            let did = match next {
                Next::Begin => self.begin().await?,
                Next::End if self.goes_on().await? => Did::On,
                Next::End => return Err(Stop::End(self.ending().await?)),
                Next::Model => self.model().await?,
                Next::Tools(calls) => self.tools(calls).await?,
            };
            if did == Did::Left {
                return Ok(());
            }
        }
    }

    /// What the claim comes to.
    pub(super) async fn conclude(mut self, went: Result<(), Stop>) -> Result<Ran, StoreError> {
        let went = match went {
            // To do the step again would be to do again what cannot be stored.
            Err(Stop::Store(error @ StoreError::Refused { .. })) => {
                tracing::error!(run.id = %self.run.key.id, error = %Chain(&error), "a step of a run cannot be stored; the run ends");
                Err(self.failed(&error.to_string()))
            }
            went => went,
        };
        let went = match went {
            Err(Stop::Unready) => self.commit(Command::Wait { until: self.now() + LATER }).await.map(drop),
            Err(Stop::End(ending)) => {
                tracing::debug!(run.id = %self.run.key.id, outcome = ending.outcome.as_str(), "the run ends");
                self.commit(Command::Finish { step: Step::default(), ending }).await.map(drop)
            }
            Err(Stop::Late) => self.hand_over().await,
            went => went,
        };
        match went {
            Ok(()) => Ok(Ran::Settled { next: self.run.durable.due, event: None }),
            Err(Stop::Store(error)) => Err(error),
            Err(Stop::Gone | Stop::Late | Stop::Unready | Stop::End(_)) => Ok(Ran::Worked),
        }
    }

    /// Another invocation goes on at once.
    async fn hand_over(&mut self) -> Result<(), Stop> {
        self.commit(Command::HandOver).await?;
        self.send_for(std::slice::from_ref(&self.run)).await;
        // This one has no time for it, so it is told that it need not look.
        Err(Stop::Late)
    }

    /// The state that its next step begins with.
    async fn restore(&mut self) -> Result<(), Stop> {
        let head = match (self.run.head(), &self.run.origin) {
            (Some(head), _) => Some(head),
            (None, Origin::Child { .. } | Origin::Aside) => None,
            (None, Origin::Lead) => match self.spec.base.clone() {
                Some(base) => Some(base),
                None => self.parts.runs.conversation(&self.run.key.thread).await?.and_then(|it| it.head),
            },
        };
        if let Some(head) = head {
            let key = self.run.key.beside(head.run);
            self.state = self.parts.checkpoints.state(&key, head.number).await?;
        }
        self.keep_title().await
    }

    /// A conversation that goes back keeps what it is called now. One that had no name then and is told something else gets another.
    async fn keep_title(&mut self) -> Result<(), Stop> {
        if self.run.head().is_some() || self.spec.base.is_none() {
            return Ok(());
        }
        let is_edit = self.spec.metadata.get(REPLAY_KIND).is_some_and(|kind| kind == EDIT);
        if !is_edit || self.state.title.is_some() {
            let conversation = self.parts.runs.conversation(&self.run.key.thread).await?;
            self.state.title = conversation.and_then(|kept| kept.title).or_else(|| self.state.title.take());
        }
        Ok(())
    }

    /// Whether it took too long.
    pub(super) fn overdue(&self) -> Result<(), Stop> {
        match self.run.until {
            Some(until) if self.now() >= until => {
                let took = until.since(self.run.created_at).as_secs();
                let why = format!("the run did not end within {took} s");
                Err(Stop::End(Ending::new(Outcome::Timeout, Some(&why))))
            }
            _ => Ok(()),
        }
    }

    /// Most steps of the run.
    pub(super) fn limit(&self) -> u32 {
        self.spec.subagent.as_ref().map_or(self.options.recursion_limit, |subagent| subagent.max_turns)
    }

    /// The end of a run that used up its steps. What a subagent said so far is a result.
    fn cut_short(&self) -> Ending {
        let limit = self.limit();
        let turns = Some(StopReason::TurnCapped);
        if self.spec.subagent.is_none() {
            let why = format!(
                "recursion limit of {limit} reached without an end; raise recursion_limit or ask for less at once"
            );
            return Ending::new(Outcome::Error, Some(&why));
        }
        let partial = self.state.last_answer().is_some_and(|answer| !answer.content.is_blank());
        let why = format!("Reached max_turns={limit}");
        let ending = if partial {
            Ending::new(Outcome::Success, None)
        } else {
            Ending::new(Outcome::Error, Some(&why))
        };
        Ending { stop_reason: turns, ..ending }
    }

    /// Makes a step true, with its checkpoint; the holder goes on. A child tells its parent of what was `said` in it.
    pub(super) async fn keep(&mut self, turn: Turn<'_>, said: &[Message], values: bool) -> Result<(), Stop> {
        let (step, state) = self.step(turn, said, values).await?;
        let lease = self.lease();
        self.commit(Command::Advance { step, lease }).await?;
        self.state = state;
        Ok(())
    }

    /// What `turn` comes to, and the state after it.
    pub(super) async fn step(
        &self,
        mut turn: Turn<'_>,
        said: &[Message],
        values: bool,
    ) -> Result<(Step, State), Stop> {
        let to_parent = subagents::steps(&mut turn, said);
        let number = self.run.checkpoints;
        if values {
            let mut progress = Progress::of(turn.state());
            let behind = progress.tells(number);
            turn.count(NAME, &progress);
            turn.tell(Notice::Values { number, behind });
        }
        let turn::Outcome { state, writes, notices, mut totals } = turn.finish();
        let added = state.messages.len().saturating_sub(self.state.messages.len());
        totals.messages = totals.messages.saturating_add(u32::try_from(added).unwrap_or(u32::MAX));
        let body = if number.is_multiple_of(SNAPSHOT_EVERY) {
            Body::Snapshot(Box::new(state.clone()))
        } else {
            Body::Delta(writes)
        };
        let body = self.parts.checkpoints.stored(&self.run.key.thread, body).await?;
        Ok((Step { body: Some(body), source: None, notices, to_parent, totals: Some(totals) }, state))
    }

    /// Tells something without a checkpoint, and so keeps the run too.
    pub(super) async fn tell(&mut self, notices: Vec<Notice>) -> Result<(), Stop> {
        let step = Step { notices, ..Step::default() };
        let lease = self.lease();
        self.commit(Command::Advance { step, lease }).await.map(drop)
    }

    /// The one way in which a run changes here: decide, commit, and judge what came of it by the row.
    pub(super) async fn commit(&mut self, command: Command) -> Result<Change, Stop> {
        for _ in 0..DECISIONS {
            let beside = self.beside(&command).await?;
            let seen = Seen {
                conversation: beside.conversation.as_ref(),
                active: None,
                next: beside.next.as_ref(),
                parent: beside.parent.as_ref(),
                base: self.spec.base.as_ref(),
            };
            let change = match decide(&self.run, command.clone(), &seen, self.now(), &self.parts.policy) {
                Ok(change) => change,
                Err(Rejected::Stale) => continue,
                Err(Rejected::Ended | Rejected::NotHeld) => return Err(Stop::Gone),
            };
            match self.parts.runs.commit(&change).await? {
                Applied::Done => self.run = change.run.run.clone(),
                Applied::Woken | Applied::Moved | Applied::Unknown => {
                    let row = self.parts.runs.load(&self.run.key).await?.ok_or(Stop::Gone)?;
                    let (stands, holds) = (stands(&row, &change.run.run), self.holds(&row));
                    if !stands && !holds {
                        return Err(Stop::Gone);
                    }
                    self.run = row;
                    if !stands {
                        continue;
                    }
                }
                Applied::Lost | Applied::KeyTaken { .. } | Applied::ThreadGone => return Err(Stop::Gone),
            }
            if self.run.durable.lease.is_none() {
                self.wake(&change).await;
            }
            return Ok(change);
        }
        let source = format!("its rows changed {DECISIONS} times while it was decided").into();
        Err(Stop::Store(StoreError::Unavailable { operation: "committing a step", source }))
    }

    /// Whether `row` is still held by this claim.
    pub(super) fn holds(&self, row: &Run) -> bool {
        let owner = |run: &Run| run.durable.lease.as_ref().map(|lease| lease.owner.clone());
        row.durable.generation == self.run.durable.generation
            && owner(row).is_some()
            && owner(row) == owner(&self.run)
    }

    async fn beside(&self, command: &Command) -> Result<Beside, StoreError> {
        let runs = &self.parts.runs;
        let (ends, relays) = match command {
            Command::Finish { step, .. } => (true, !step.to_parent.is_empty()),
            Command::Advance { step, .. } | Command::Park { step, .. } => (false, !step.to_parent.is_empty()),
            _ => (false, false),
        };
        let mut beside = Beside::default();
        match &self.run.origin {
            Origin::Child { parent, .. } if ends || relays => {
                beside.parent = runs.load(&self.run.key.beside(parent.clone())).await?;
            }
            Origin::Aside if ends => beside.conversation = runs.conversation(&self.run.key.thread).await?,
            // The first checkpoint says where the conversation stood.
            Origin::Lead if ends || self.run.checkpoints == 0 => {
                beside.conversation = runs.conversation(&self.run.key.thread).await?;
                let waiting = beside.conversation.as_ref().and_then(|it| it.queue.first().cloned());
                if let Some(id) = waiting {
                    beside.next = runs.load(&self.run.key.beside(id)).await?;
                }
            }
            _ => {}
        }
        Ok(beside)
    }

    /// Wakes whoever has something to do now: children that begin, the parent of one that ended, the next run of the thread.
    async fn wake(&self, change: &Change) {
        let now = self.now();
        let ready = change
            .others
            .iter()
            .map(|other| &other.run)
            .filter(|run| run.durable.claimable(pudu_domain::Lane::Run, now));
        let (children, others): (Vec<Run>, Vec<Run>) =
            ready.cloned().partition(|run| matches!(run.origin, Origin::Child { .. }));
        self.send_for(&children).await;
        self.parts.wakeups.wake(others.iter().filter_map(Wake::of_run).collect()).await;
    }

    /// An invocation of its own for each of them, whoever is awake; where nobody can be invoked, word is left.
    async fn send_for(&self, runs: &[Run]) {
        for wake in runs.iter().filter_map(Wake::of_run) {
            let invoked = match &self.parts.wakeups.waker {
                Some(waker) => waker.wake(Background::Agent, std::slice::from_ref(&wake)).await.is_ok(),
                None => false,
            };
            if !invoked {
                self.parts.wakeups.wake(vec![wake]).await;
            }
        }
    }
}

/// Whether `row` shows what it was to become by a commit of its holder whose answer was lost, whoever wrote to it since: nobody but
/// the holder moves the end of a lease, or takes the lease without raising the generation.
fn stands(row: &Run, after: &Run) -> bool {
    let until = |run: &Run| run.durable.lease.as_ref().map(|lease| lease.until);
    row.durable.generation == after.durable.generation && until(row) == until(after)
}
