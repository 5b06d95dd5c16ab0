//! The decision point: every command that can meet a notification, and what comes of it.

use super::{Change, Keep, Note, State, kept_until};
use crate::backoff;
use crate::durable::{Due, Lane};
use crate::ids::RunId;
use crate::policy::Policy;
use crate::task::Delivery;
use crate::text::Snippet;
use crate::time::Timestamp;

/// What somebody wants of a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Deliver the event itself, or end the note if the task has moved on; `attention` is the task's current version, read
    /// after the claim. A note that is delivered by a run is only ended by it. By the holder.
    Deliver {
        /// The version that is true now; 0 when nothing needs attention.
        attention: u32,
    },
    /// A run was started with it. By the holder.
    RecordLaunch(RunId),
    /// The run ended well: delivered. By the holder.
    RecordRunSuccess,
    /// The run ended badly: another one is started later. By the holder.
    RecordRunFailure(String),
    /// Nobody knows the run: another one is started later. By the holder.
    RecordRunVanished,
    /// The run goes on: look again later. By the holder.
    RecordRunning,
    /// The thread has another run: no failure, whatever number of times. By the holder.
    RecordBusy,
    /// There is no such thread: dead at once, a further attempt would not make one. By the holder.
    RecordMissingThread(String),
    /// Anything else went wrong; it is tried again, up to the policy's number of attempts. By the holder.
    RecordFailure(String),
    /// An operator wants a dead letter to be tried again. By anybody.
    Replay,
    /// The thread is going: nothing is told to it any more. By anybody; fences the holder.
    Drop,
}

/// A command that this notification, as it stands, cannot take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// It is not in a state for it; at an end it takes nothing.
    #[error("a notification in state {state} cannot take the command {command}")]
    WrongState {
        /// Where it stands.
        state: &'static str,
        /// What was wanted.
        command: &'static str,
    },
    /// The command belongs to the other way of delivery.
    #[error("the command {command} is not for a notification that is delivered this way")]
    WrongDelivery {
        /// What was wanted.
        command: &'static str,
    },
    /// The command is for the holder of a lease, and there is no lease.
    #[error("the command {command} is for the holder of a lease, and nobody holds one")]
    NotHeld {
        /// What was wanted.
        command: &'static str,
    },
}

impl Command {
    /// The command's name, for messages.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Deliver { .. } => "deliver",
            Self::RecordLaunch(_) => "record_launch",
            Self::RecordRunSuccess => "record_run_success",
            Self::RecordRunFailure(_) => "record_run_failure",
            Self::RecordRunVanished => "record_run_vanished",
            Self::RecordRunning => "record_running",
            Self::RecordBusy => "record_busy",
            Self::RecordMissingThread(_) => "record_missing_thread",
            Self::RecordFailure(_) => "record_failure",
            Self::Replay => "replay",
            Self::Drop => "drop",
        }
    }

    /// Whether it needs no claim.
    const fn is_anybodys(&self) -> bool {
        matches!(self, Self::Replay | Self::Drop)
    }

    fn fits(&self, state: &State) -> bool {
        match state {
            State::Pending => matches!(
                self,
                Self::Deliver { .. }
                    | Self::RecordLaunch(_)
                    | Self::RecordBusy
                    | Self::RecordMissingThread(_)
                    | Self::RecordFailure(_)
                    | Self::Drop
            ),
            State::Dispatched { .. } => matches!(
                self,
                Self::RecordRunSuccess
                    | Self::RecordRunFailure(_)
                    | Self::RecordRunVanished
                    | Self::RecordRunning
                    | Self::RecordFailure(_)
                    | Self::Drop
            ),
            State::Dead => self.is_anybodys(),
            State::Delivered { .. } | State::Withdrawn | State::Superseded => false,
        }
    }
}

/// What becomes of `note` by `command` at `now`.
pub fn decide(note: &Note, command: Command, now: Timestamp, policy: &Policy) -> Result<Change, Rejected> {
    let name = command.name();
    if !command.fits(&note.state) {
        return Err(Rejected::WrongState { state: note.state.as_str(), command: name });
    }
    if !command.is_anybodys() && note.durable.lease.is_none() {
        return Err(Rejected::NotHeld { command: name });
    }
    let by_run = note.delivery == Delivery::Run;
    let fenced = command.is_anybodys();
    let mut after = note.clone();
    match command {
        Command::Deliver { attention } => match note.stale(attention) {
            Some(end) => end_as(&mut after, end),
            None if by_run => return Err(Rejected::WrongDelivery { command: name }),
            None => end_as(&mut after, State::Delivered { at: now }),
        },
        Command::RecordLaunch(_) | Command::RecordBusy if !by_run => {
            return Err(Rejected::WrongDelivery { command: name });
        }
        Command::RecordLaunch(run) => {
            after.state = State::Dispatched { run };
            after.last_error = None;
            after.durable.due = Some(notify(now + policy.poll_interval));
        }
        Command::RecordRunSuccess => end_as(&mut after, State::Delivered { at: now }),
        Command::RecordRunFailure(error) => relaunch(&mut after, &error, now, policy),
        Command::RecordRunVanished => {
            let run = match &note.state {
                State::Dispatched { run } => run.as_str(),
                _ => "",
            };
            relaunch(&mut after, &format!("the run {run} is not known any more"), now, policy);
        }
        Command::RecordRunning | Command::RecordBusy => {
            after.durable.due = Some(notify(now + policy.poll_interval));
        }
        Command::RecordMissingThread(error) => {
            after.attempts = note.attempts.saturating_add(1);
            after.last_error = Some(Snippet::of(&error));
            die(&mut after, now);
        }
        Command::RecordFailure(error) => fail(&mut after, &error, now, policy),
        Command::Replay => {
            after.state = State::Pending;
            after.attempts = 0;
            after.last_error = None;
            after.durable.due = Some(notify(now));
        }
        Command::Drop => end_as(&mut after, State::Withdrawn),
    }
    let ended = matches!(after.state, State::Delivered { .. } | State::Withdrawn | State::Superseded);
    let keep = match (&note.state, &after.state) {
        (_, State::Dead) => Keep::Always,
        (State::Dead, _) => Keep::Until(kept_until(now, policy)),
        _ => Keep::AsItIs,
    };
    let (expect, durable) = if fenced {
        (note.durable.unchanged(), note.durable.fenced(after.durable.due))
    } else {
        (note.durable.held(), note.durable.committed(after.durable.due))
    };
    Ok(Change {
        expect,
        deliver: matches!(after.state, State::Delivered { .. }),
        expires: ended.then(|| now + policy.retention),
        keep,
        note: Note { durable, ..after },
    })
}

const fn notify(at: Timestamp) -> Due {
    Due { lane: Lane::Notify, at }
}

fn end_as(note: &mut Note, end: State) {
    note.state = end;
    note.last_error = None;
    note.durable.due = None;
}

fn die(note: &mut Note, now: Timestamp) {
    note.state = State::Dead;
    note.durable.due = Some(Due { lane: Lane::Dead, at: now });
}

/// Counts a failure and backs off from it; the last one allowed is the end. The reference sees that only at the next claim,
/// which would be a claim for nothing.
fn fail(note: &mut Note, error: &str, now: Timestamp, policy: &Policy) {
    let wait = backoff::after_failure(policy, note.attempts);
    note.attempts = note.attempts.saturating_add(1);
    note.last_error = Some(Snippet::of(error));
    note.durable.due = Some(notify(now + wait));
    if note.attempts >= policy.notification_attempts {
        die(note, now);
    }
}

/// A run that was started came to nothing: the next one needs a key of its own.
fn relaunch(note: &mut Note, error: &str, now: Timestamp, policy: &Policy) {
    note.state = State::Pending;
    note.dispatch = note.dispatch.saturating_add(1);
    fail(note, error, now, policy);
}
