//! The notifier: brings each event to its thread exactly once, or ends it when the task has moved on.
//!
//! An event of an API's caller shows in its thread, and that is its delivery. An event of an agent's task starts a run, and is
//! delivered when that run has ended well; until then the note is *dispatched* and its run is asked for now and then. One
//! claim does one step (reference 7.3).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pudu_domain::note::{Command, State, decide};
use pudu_domain::task::Delivery;
use pudu_domain::{Lane, Lease, Note, Policy, RunId, Timestamp};

use super::drain::{Ran, Work};
use super::poller::failed;
use crate::deadline::Deadline;
use crate::framing;
use crate::limits::Limits;
use crate::ports::{
    Clock, Committed, ItemKey, Launch, LaunchError, NoteKey, NoteStore, Random, RunLauncher, RunStatus,
    StoreError, TaskStore, ThreadStore, ToldEvent,
};

/// How long starting a run, or asking for one, may take.
const ASKING: Duration = Duration::from_mins(1);

/// Serves the notify lane.
#[derive(Clone)]
pub struct Notifier {
    /// Who claims; a name for this process.
    pub worker: String,
    /// The notifications.
    pub notes: Arc<dyn NoteStore>,
    /// The tasks: their attention version says whether an event is still true.
    pub tasks: Arc<dyn TaskStore>,
    /// Their threads: no run is started in one that is going.
    pub threads: Arc<dyn ThreadStore>,
    /// Who runs agents; where nobody does, an event that needs a run fails, and is a dead letter in the end.
    pub launcher: Option<Arc<dyn RunLauncher>>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Nonces.
    pub random: Arc<dyn Random>,
    /// The numbers.
    pub policy: Policy,
    /// Lease and permits.
    pub limits: Limits,
}

/// What is to be recorded; none when nothing can be said, and the claim only ends with its lease.
type Outcome = Option<Command>;

#[async_trait]
impl Work for Notifier {
    fn lanes(&self) -> &'static [Lane] {
        &[Lane::Notify]
    }

    async fn run(&self, lane: Lane, key: &ItemKey, deadline: Deadline) -> Ran {
        let ItemKey::Note(key) = key else { return Ran::Refused };
        match self.work(lane, key, deadline).await {
            Ok(ran) => ran,
            Err(error) => {
                failed(&error, &key.task.id, lane);
                Ran::Failed
            }
        }
    }
}

impl Notifier {
    async fn work(&self, lane: Lane, key: &NoteKey, deadline: Deadline) -> Result<Ran, StoreError> {
        let until = self.clock.now() + self.limits.lease;
        let lease = Lease { owner: self.random.owner(&self.worker), until };
        let Some(note) = self.notes.claim(key, lane, lease).await? else { return Ok(Ran::Refused) };
        match self.step(&note, until, deadline).await {
            Ok(Some(command)) => self.conclude(&note, command).await,
            Ok(None) => Ok(Ran::Refused),
            Err(error) => self.not_delivered(&note, error).await,
        }
    }

    /// What this claim comes to.
    async fn step(&self, note: &Note, until: Timestamp, deadline: Deadline) -> Result<Outcome, StoreError> {
        if let State::Dispatched { run } = &note.state {
            return Ok(self.supervise(note, run, until, deadline).await);
        }
        let attention = self.attention(note).await?;
        if note.delivery == Delivery::Event || note.stale(attention).is_some() {
            return Ok(Some(Command::Deliver { attention }));
        }
        self.launch(note, until, deadline).await
    }

    /// The version that is true now. Read after the claim: what is true now decides, not what was true when the event was
    /// made. What tells an end is true whatever the task's row says, so that is not read.
    async fn attention(&self, note: &Note) -> Result<u32, StoreError> {
        if note.status.is_terminal() {
            return Ok(note.version);
        }
        Ok(self.tasks.load(&note.task).await?.map_or(0, |task| task.attention.version))
    }

    async fn launch(&self, note: &Note, until: Timestamp, deadline: Deadline) -> Result<Outcome, StoreError> {
        let Some(launcher) = &self.launcher else {
            return Ok(Some(Command::RecordFailure("no agent can be run here".to_owned())));
        };
        match self.threads.load(&note.task.thread).await? {
            None => return Ok(Some(Command::RecordMissingThread("the thread is not there".to_owned()))),
            Some(thread) if thread.is_going() => return Ok(Some(Command::Drop)),
            Some(_) => {}
        }
        let Some(event) = self.notes.event(note).await? else {
            return Ok(Some(Command::RecordFailure("the event is not kept any more".to_owned())));
        };
        let launch = Launch {
            thread: note.task.thread.clone(),
            key: note.idempotency_key(),
            text: framing::framed(&note.task.thread.thread, &event),
            event: ToldEvent::of(note),
        };
        let launched = self.within(until, deadline, launcher.launch(launch)).await;
        Ok(launched.map(|launched| match launched {
            Ok(Ok(run)) => Command::RecordLaunch(run),
            Ok(Err(LaunchError::Busy)) => Command::RecordBusy,
            Ok(Err(error @ LaunchError::MissingThread(_))) => Command::RecordMissingThread(error.to_string()),
            Ok(Err(error @ LaunchError::Failed(_))) => Command::RecordFailure(error.to_string()),
            Err(why) => Command::RecordFailure(format!("starting a run {why}")),
        }))
    }

    async fn supervise(&self, note: &Note, run: &RunId, until: Timestamp, deadline: Deadline) -> Outcome {
        let Some(launcher) = &self.launcher else {
            return Some(Command::RecordFailure("no agent's run can be looked up here".to_owned()));
        };
        let asked = self.within(until, deadline, launcher.status(&note.task.thread, run)).await?;
        Some(match asked {
            Ok(Ok(Some(RunStatus::Running))) => Command::RecordRunning,
            Ok(Ok(Some(RunStatus::Succeeded))) => Command::RecordRunSuccess,
            Ok(Ok(Some(RunStatus::Failed(why)))) => Command::RecordRunFailure(why),
            Ok(Ok(None)) => Command::RecordRunVanished,
            Ok(Err(error)) => Command::RecordFailure(error.to_string()),
            Err(why) => Command::RecordFailure(format!("looking up the run {why}")),
        })
    }

    /// One call inside its deadline; the error says that there was no answer in time. None where that is because this
    /// invocation ends: it says nothing of whoever runs agents.
    async fn within<T>(
        &self,
        until: Timestamp,
        deadline: Deadline,
        call: impl Future<Output = T>,
    ) -> Option<Result<T, String>> {
        let now = self.clock.now();
        let limit = deadline.call_limit(now, ASKING, until.since(now))?;
        match tokio::time::timeout(limit.time, call).await {
            Ok(answer) => Some(Ok(answer)),
            Err(_) if limit.cut => None,
            Err(_) => Some(Err(format!("did not answer within {} ms", limit.time.as_millis()))),
        }
    }

    async fn conclude(&self, note: &Note, command: Command) -> Result<Ran, StoreError> {
        let (task, version, name) = (&note.task.id, note.version, command.name());
        let change = match decide(note, command, self.clock.now(), &self.policy) {
            Ok(change) => change,
            Err(error) => {
                tracing::warn!(task.id = %task, version, %error, "a notification cannot be delivered");
                return Ok(Ran::Worked);
            }
        };
        let state = change.note.state.as_str();
        match self.notes.commit(&change).await {
            Ok(Committed::Done) => {
                if change.note.state == State::Dead {
                    let error = change.note.last_error.as_ref().map_or("", |error| error.as_str());
                    tracing::error!(task.id = %task, version, attempts = change.note.attempts, error, "a notification is a dead letter");
                } else {
                    tracing::debug!(task.id = %task, version, command = name, state, "notification settled");
                }
                return Ok(Ran::Settled { next: change.note.durable.due, event: None });
            }
            Ok(outcome) => {
                tracing::debug!(task.id = %task, version, command = name, state, ?outcome, "notification not settled by us");
            }
            Err(error) => return self.not_delivered(note, error).await,
        }
        Ok(Ran::Worked)
    }

    /// A delivery that the table refuses is counted, because trying for ever would hide it. An outage is nobody's failed
    /// delivery: the lease ends and the note is claimed again.
    async fn not_delivered(&self, note: &Note, error: StoreError) -> Result<Ran, StoreError> {
        if !matches!(error, StoreError::Unavailable { .. }) {
            let command = Command::RecordFailure(error.to_string());
            if let Ok(change) = decide(note, command, self.clock.now(), &self.policy) {
                self.notes.commit(&change).await?;
            }
        }
        Err(error)
    }
}
