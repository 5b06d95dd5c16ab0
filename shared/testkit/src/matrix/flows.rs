//! Every flow of the system, as acts of processes that may die.

use std::time::Duration;

use pudu_domain::Status;

use crate::server::{OnCancel, Plan, Question};
use crate::sim::Drift;

/// What one process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A gateway submits a task.
    Submit,
    /// A gateway is asked to cancel the first task.
    Cancel,
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
    pub before: &'static [Act],
    /// The flow itself: each call of it is a point.
    pub acts: &'static [Act],
    /// What a caller does whose gateway died.
    pub after_a_crash: &'static [Act],
}

impl Act {
    /// The process's name in traces.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Submit => "submitter",
            Self::Cancel => "canceller",
            Self::Poll => "poller",
            Self::Notify => "notifier",
            Self::Configure(_) => "operator",
            Self::Down(_) => "server",
            Self::Wait(_) => "time",
        }
    }
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn flow(name: &'static str, plan: Plan, before: &'static [Act], acts: &'static [Act]) -> Flow {
    Flow { name, plans: vec![plan], before, acts, after_a_crash: &[] }
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

/// Every flow.
pub fn flows() -> Vec<Flow> {
    use Act::{Cancel, Configure, Down, Notify, Poll, Submit, Wait};
    const LATER: Act = Wait(6);
    let ended = || Plan::completes_after(secs(3));
    let mut flows = vec![
        flow("submit", working(), &[], &[Submit]),
        flow("submit, ended at once", Plan::completes_after(Duration::ZERO), &[], &[Submit]),
        flow("submit, refused", working(), &[Down(true)], &[Submit]),
        flow("submit, id too long", Plan { handle: Some("r".repeat(256)), ..working() }, &[], &[Submit]),
        flow("a whole life", ended(), &[], &[Submit, LATER, Poll, Notify]),
        flow("poll, working", working(), &[Submit, LATER], &[Poll]),
        flow("poll, question", asking(), &[Submit, LATER], &[Poll]),
        flow("poll, the same question again", asking(), &[Submit, LATER, Poll, Wait(61)], &[Poll]),
        flow("poll, completed", ended(), &[Submit, LATER], &[Poll]),
        flow("poll, large result", Plan { result_chars: 70_000, ..ended() }, &[Submit, LATER], &[Poll]),
        flow("poll, failed", Plan { end: Status::Failed, ..ended() }, &[Submit, LATER], &[Poll]),
        flow("poll, violation", Plan { nonsense_at: Some(0), ..working() }, &[Submit, LATER], &[Poll]),
        flow(
            "failures to degraded and back",
            Plan::completes_after(secs(300)),
            &[Submit, Down(true), LATER, Poll, LATER, Poll, Wait(11)],
            &[Poll, Notify, Down(false), Wait(21), Poll, Notify],
        ),
        flow("cancel", working(), &[Submit, LATER, Poll], &[Cancel, Poll, Notify]),
        flow("cancel, twice", working(), &[Submit, LATER, Poll], &[Cancel, Cancel, Poll]),
        flow(
            "cancel, failing",
            taking_cancels(OnCancel::Refuses),
            &[Submit, LATER, Poll],
            &[Cancel, Poll, Wait(6), Poll],
        ),
        flow(
            "cancel, acknowledged",
            taking_cancels(OnCancel::Acknowledges),
            &[Submit, LATER, Poll],
            &[Cancel, Poll, Wait(6), Poll],
        ),
        flow("cancel, of what has ended", ended(), &[Submit, LATER, Poll], &[Cancel, Poll]),
        flow("notify, delivered", ended(), &[Submit, LATER, Poll], &[Notify]),
        flow("notify, withdrawn", asking(), &[Submit, LATER, Poll, Wait(300), Poll], &[Notify]),
        flow(
            "notify, superseded",
            Plan {
                questions: vec![
                    Question { from: secs(1), until: secs(30), text: "which year?".into() },
                    Question { from: secs(30), until: secs(300), text: "which month?".into() },
                ],
                ..Plan::completes_after(secs(400))
            },
            &[Submit, LATER, Poll, Wait(61), Poll],
            &[Notify],
        ),
        Flow {
            plans: vec![working(), Plan { handle: Some("remote-0".into()), ..working() }],
            ..flow("submit, duplicate handle", working(), &[Submit], &[Submit])
        },
    ];
    flows.extend([Drift::Disabled, Drift::Removed, Drift::Moved, Drift::Impatient].map(|drift| {
        let (name, acts): (_, &'static [Act]) = match drift {
            Drift::Original => ("config, unchanged", &[Configure(Drift::Original), Poll]),
            Drift::Disabled => (
                "config, disabled and back",
                &[Configure(Drift::Disabled), Poll, Configure(Drift::Original), LATER, Poll],
            ),
            Drift::Removed => (
                "config, removed and back",
                &[Configure(Drift::Removed), Poll, Configure(Drift::Original), LATER, Poll],
            ),
            Drift::Moved => (
                "config, another identity and back",
                &[Configure(Drift::Moved), Poll, Configure(Drift::Original), LATER, Poll],
            ),
            Drift::Impatient => {
                ("config, another timeout", &[Configure(Drift::Impatient), Poll, LATER, Poll])
            }
        };
        flow(name, working(), &[Submit, LATER], acts)
    }));
    flows
}
