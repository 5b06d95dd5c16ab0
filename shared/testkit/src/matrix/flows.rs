//! Every flow of the system, as acts of processes that may die.

use std::time::Duration;

use pudu_domain::Status;

use crate::server::{OnAnswer, OnCancel, Plan, Question};
use crate::sim::Drift;

/// What one process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A gateway submits a task.
    Submit,
    /// A gateway submits a task, and dies when the server has taken it: an intent is left. Only before a flow.
    SubmitLost,
    /// A gateway submits a task for a caller with a key.
    SubmitKeyed,
    /// The first submission is repeated, with its key.
    SubmitAgain,
    /// An agent submits a task: its events are told by runs.
    SubmitByAgent,
    /// Nobody begins runs, or somebody does again.
    Refuse(bool),
    /// The runs that tell events end well.
    EndRuns,
    /// An operator has every dead letter tried again.
    Replay,
    /// A gateway is asked to cancel the first task.
    Cancel,
    /// A gateway is given an answer to the first task's question.
    Answer,
    /// A gateway is asked to delete the thread.
    Delete,
    /// A poller's tick.
    Poll,
    /// A notifier's tick.
    Notify,
    /// An operator changes the config.
    Configure(Drift),
    /// The server stops answering, or answers again.
    Down(bool),
    /// So many seconds pass.
    Wait(u64),
}

/// One flow.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Its name.
    pub name: &'static str,
    /// How the remote tasks live, in the order of their submission; the last is for all that follow.
    pub plans: Vec<Plan>,
    /// What happened before, undisturbed.
    pub before: Vec<Act>,
    /// The flow itself: each call of it is a point.
    pub acts: Vec<Act>,
    /// What callers do who have not heard of their task.
    pub unheard: Vec<Act>,
}

impl Flow {
    /// Whether somebody waits at a gateway who may hang up.
    pub(super) fn has_a_caller(&self) -> bool {
        self.acts.iter().any(|act| matches!(act, Act::Submit | Act::SubmitKeyed | Act::SubmitAgain))
    }
}

impl Act {
    /// The process's name in traces.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Submit | Self::SubmitLost | Self::SubmitKeyed | Self::SubmitAgain => "submitter",
            Self::SubmitByAgent | Self::Refuse(_) | Self::EndRuns => "agent",
            Self::Cancel => "canceller",
            Self::Answer => "answerer",
            Self::Delete => "deleter",
            Self::Poll => "poller",
            Self::Notify => "notifier",
            Self::Configure(_) | Self::Replay => "operator",
            Self::Down(_) => "server",
            Self::Wait(_) => "time",
        }
    }
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn flow(name: &'static str, plan: Plan, before: &[Act], acts: &[Act]) -> Flow {
    Flow { name, plans: vec![plan], before: before.to_vec(), acts: acts.to_vec(), unheard: Vec::new() }
}

fn working() -> Plan {
    Plan::completes_after(secs(60))
}

fn asking() -> Plan {
    let question = Question { from: secs(1), until: secs(300), text: "which year?".into() };
    Plan { questions: vec![question], ..Plan::completes_after(secs(400)) }
}

fn taking_cancels(on_cancel: OnCancel) -> Plan {
    Plan { on_cancel, ..working() }
}

/// A question that changes after half a minute, and a task that goes on by itself after five.
fn changing() -> Plan {
    let first = Question { from: secs(1), until: secs(30), text: "which year?".into() };
    let second = Question { from: secs(30), until: secs(300), text: "which month?".into() };
    Plan { questions: vec![first, second], ..Plan::completes_after(secs(400)) }
}

const LATER: Act = Act::Wait(6);

/// Every flow.
pub fn flows() -> Vec<Flow> {
    let mut flows = submissions();
    flows.extend(polls());
    flows.extend(cancels());
    flows.extend(answers());
    flows.extend(intents());
    flows.extend(notes());
    flows.extend(told_by_runs());
    flows.extend(deletions());
    flows.extend(drifts());
    flows
}

fn submissions() -> Vec<Flow> {
    use Act::{Down, Notify, Poll, Submit, SubmitAgain, SubmitKeyed};
    vec![
        flow("submit", working(), &[], &[Submit]),
        flow("submit, ended at once", Plan::completes_after(Duration::ZERO), &[], &[Submit]),
        flow("submit, refused", working(), &[Down(true)], &[Submit]),
        flow("submit, id too long", Plan { handle: Some("r".repeat(256)), ..working() }, &[], &[Submit]),
        Flow {
            plans: vec![working(), Plan { handle: Some("remote-0".into()), ..working() }],
            ..flow("submit, duplicate handle", working(), &[Submit], &[Submit])
        },
        Flow { unheard: vec![SubmitAgain], ..flow("submit with a key", working(), &[], &[SubmitKeyed]) },
        Flow {
            unheard: vec![SubmitAgain],
            ..flow("submit with a key, refused", working(), &[Down(true)], &[SubmitKeyed])
        },
        flow("submit with a key, repeated", working(), &[SubmitKeyed], &[SubmitAgain]),
        flow("a whole life", Plan::completes_after(secs(3)), &[], &[Submit, LATER, Poll, Notify]),
    ]
}

fn polls() -> Vec<Flow> {
    use Act::{Down, Notify, Poll, Submit, Wait};
    let ended = || Plan::completes_after(secs(3));
    let before = &[Submit, LATER];
    vec![
        flow("poll, working", working(), before, &[Poll]),
        flow("poll, question", asking(), before, &[Poll]),
        flow("poll, the same question still", asking(), &[Submit, LATER, Poll, Wait(61)], &[Poll]),
        flow("poll, another question", changing(), &[Submit, LATER, Poll, Wait(61)], &[Poll]),
        flow("poll, completed", ended(), before, &[Poll]),
        flow("poll, large result", Plan { result_chars: 70_000, ..ended() }, before, &[Poll]),
        flow("poll, failed", Plan { end: Status::Failed, ..ended() }, before, &[Poll]),
        flow("poll, violation", Plan { nonsense_at: Some(0), ..working() }, before, &[Poll]),
        flow(
            "failures to degraded and back",
            Plan::completes_after(secs(300)),
            &[Submit, Down(true), LATER, Poll, LATER, Poll, Wait(11)],
            &[Poll, Notify, Down(false), Wait(21), Poll, Notify],
        ),
    ]
}

fn cancels() -> Vec<Flow> {
    use Act::{Cancel, Notify, Poll, Submit};
    let before = &[Submit, LATER, Poll];
    vec![
        flow("cancel", working(), before, &[Cancel, Poll, Notify]),
        flow("cancel, twice", working(), before, &[Cancel, Cancel, Poll]),
        flow("cancel, failing", taking_cancels(OnCancel::Refuses), before, &[Cancel, Poll, LATER, Poll]),
        flow(
            "cancel, acknowledged",
            taking_cancels(OnCancel::Acknowledges),
            before,
            &[Cancel, Poll, LATER, Poll],
        ),
        flow("cancel, of what has ended", Plan::completes_after(secs(3)), before, &[Cancel, Poll]),
    ]
}

fn answers() -> Vec<Flow> {
    use Act::{Answer, Cancel, Delete, Notify, Poll, Submit, Wait};
    let taking = |on_answer| Plan { on_answer, ..asking() };
    let before = &[Submit, LATER, Poll];
    vec![
        flow("answer, taken", asking(), before, &[Answer, Poll, Notify]),
        flow("answer, twice", asking(), before, &[Answer, Answer, Poll]),
        flow("answer, refused", taking(OnAnswer::Refuses), before, &[Answer, Poll, LATER, Answer, Poll]),
        flow(
            "answer, asked on",
            taking(OnAnswer::GoesOnAsking),
            before,
            &[Answer, Poll, Wait(61), Poll, Notify],
        ),
        flow("answer, of another question", changing(), before, &[Wait(40), Answer, Poll, Notify]),
        flow("answer, then a cancel", asking(), before, &[Answer, Cancel, Poll, LATER, Poll]),
        flow("answer, then the thread goes", asking(), before, &[Answer, Delete, Poll, LATER, Poll]),
    ]
}

fn intents() -> Vec<Flow> {
    use Act::{Cancel, Notify, Poll, SubmitLost, Wait};
    vec![
        flow("recovery of an intent", working(), &[SubmitLost, Wait(90)], &[Poll, Notify]),
        flow("cancel of an intent", working(), &[SubmitLost], &[Cancel, Wait(90), Poll, Notify]),
    ]
}

fn deletions() -> Vec<Flow> {
    use Act::{Delete, Notify, Poll, Submit, SubmitLost, Wait};
    let ended = || Plan::completes_after(secs(3));
    vec![
        flow("delete, what works", working(), &[Submit, LATER, Poll], &[Delete, Poll, LATER, Poll]),
        flow("delete, what asks", asking(), &[Submit, LATER, Poll], &[Delete, Poll, LATER, Poll]),
        flow("delete, what has ended", ended(), &[Submit, LATER, Poll, Notify], &[Delete, Poll]),
        flow("delete, an intent", working(), &[SubmitLost], &[Delete, Poll, Wait(90), Poll, LATER, Poll]),
        flow(
            "delete, what cannot be cancelled",
            taking_cancels(OnCancel::Refuses),
            &[Submit, LATER, Poll],
            &[Delete, Poll, LATER, Poll],
        ),
    ]
}

fn notes() -> Vec<Flow> {
    use Act::{Notify, Poll, Submit, Wait};
    vec![
        flow("notify, delivered", Plan::completes_after(secs(3)), &[Submit, LATER, Poll], &[Notify]),
        flow("notify, withdrawn", asking(), &[Submit, LATER, Poll, Wait(300), Poll], &[Notify]),
        flow("notify, superseded", changing(), &[Submit, LATER, Poll, Wait(61), Poll], &[Notify]),
    ]
}

/// Events of an agent's tasks: a run tells each, and what no run will tell waits for an operator.
fn told_by_runs() -> Vec<Flow> {
    use Act::{EndRuns, Notify, Poll, Refuse, Replay, SubmitByAgent, Wait};
    let ended = || Plan::completes_after(secs(3));
    let refused = [SubmitByAgent, LATER, Poll, Refuse(true)];
    // The last attempt but one; the longest pause between two is five minutes.
    let given_up = [Notify, Wait(301), Notify, Wait(301), Notify, Wait(301), Notify, Wait(301)];
    vec![
        flow("notify by a run", ended(), &[SubmitByAgent, LATER, Poll], &[Notify, EndRuns, LATER, Notify]),
        flow(
            "a dead letter, replayed",
            ended(),
            &[&refused[..], &given_up].concat(),
            &[Notify, Replay, Refuse(false), Notify, EndRuns, LATER, Notify],
        ),
    ]
}

fn drifts() -> [Flow; 4] {
    use Act::{Configure, Poll, Submit};
    Drift::AWAY.map(|drift| {
        let name = match drift {
            Drift::Original => "config, unchanged",
            Drift::Disabled => "config, disabled and back",
            Drift::Removed => "config, removed and back",
            Drift::Moved => "config, another identity and back",
            Drift::Impatient => "config, another timeout and back",
        };
        let acts = [Configure(drift), Poll, Configure(Drift::Original), LATER, Poll];
        flow(name, working(), &[Submit, LATER], &acts)
    })
}
