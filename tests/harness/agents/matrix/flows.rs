//! Every flow of runs, as acts of processes that may die.

use std::time::Duration;

use pudu_app::runs::Action;
use pudu_domain::run::Strategy;
use pudu_testkit::server::Plan;

use super::Plot;

/// What one process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A gateway admits a run.
    Admit(Strategy),
    /// A gateway admits a run with secrets, for a caller with a key.
    AdmitKeyed(Strategy),
    /// The last admission with a key is repeated.
    AdmitAgain,
    /// A gateway ends the first run.
    Cancel(Action),
    /// A gateway is asked to delete the thread.
    Delete,
    /// An agent's tick.
    Work,
    /// Two invocations at once.
    Twice,
    /// An agent's tick that is nearly over when it begins.
    Brief,
    /// Agents are invoked for every wake-up so far, each twice at once.
    Woken,
    /// An agent's tick that dies when a model is asked for that time. Only before a flow.
    Lose(u32),
    /// A poller's tick.
    Poll,
    /// A notifier's tick.
    Notify,
    /// From now on models do this.
    Talk(Plot),
    /// So many seconds pass.
    Wait(u64),
}

/// One flow.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Its name.
    pub name: &'static str,
    /// What its models do.
    pub plot: Plot,
    /// How its durable tasks live.
    pub plan: Plan,
    /// What happened before, undisturbed.
    pub before: Vec<Act>,
    /// The flow itself: each call of it is a point.
    pub acts: Vec<Act>,
}

impl Flow {
    /// Whether each run of it ends well, whoever dies: no model refuses, and nobody ends or replaces a run.
    pub fn ends_well(&self) -> bool {
        let ends = |act: &Act| match act {
            Act::Cancel(_) | Act::Delete | Act::Talk(Plot::Fails) => true,
            Act::Admit(strategy) | Act::AdmitKeyed(strategy) => {
                matches!(strategy, Strategy::Interrupt | Strategy::Rollback)
            }
            _ => false,
        };
        self.plot != Plot::Fails && !self.before.iter().chain(&self.acts).any(ends)
    }
}

impl Act {
    /// The process's name in traces.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Admit(_) | Self::AdmitKeyed(_) | Self::AdmitAgain => "caller",
            Self::Cancel(_) => "canceller",
            Self::Delete => "deleter",
            Self::Work | Self::Twice | Self::Brief | Self::Woken | Self::Lose(_) => "agent",
            Self::Poll => "poller",
            Self::Notify => "notifier",
            Self::Talk(_) => "model",
            Self::Wait(_) => "time",
        }
    }
}

fn flow(name: &'static str, plot: Plot, before: &[Act], acts: &[Act]) -> Flow {
    let plan = Plan::completes_after(Duration::from_secs(3));
    Flow { name, plot, plan, before: before.to_vec(), acts: acts.to_vec() }
}

const ADMIT: Act = Act::Admit(Strategy::Reject);
/// A poll, or a look at a run that tells an event, is due again.
const LATER: Act = Act::Wait(6);

/// Every flow.
pub fn flows() -> Vec<Flow> {
    let mut flows = admissions();
    flows.extend(steps());
    flows.extend(waits());
    flows.extend(ends());
    flows.extend(deliveries());
    flows.extend(deletions());
    flows
}

fn admissions() -> Vec<Flow> {
    use Act::{AdmitAgain, AdmitKeyed, Lose, Work};
    let plot = Plot::Answers;
    let over = |name, strategy| flow(name, plot, &[ADMIT, Lose(1)], &[AdmitKeyed(strategy)]);
    vec![
        flow("admit", plot, &[], &[ADMIT]),
        flow("admit with a key", plot, &[], &[AdmitKeyed(Strategy::Reject)]),
        flow("admit with a key, repeated", plot, &[AdmitKeyed(Strategy::Reject)], &[AdmitAgain]),
        flow(
            "admit with a key, repeated behind its end",
            plot,
            &[AdmitKeyed(Strategy::Reject), Work],
            &[AdmitAgain],
        ),
        over("admit, refused", Strategy::Reject),
        over("admit, interrupting", Strategy::Interrupt),
        over("admit, rolling back", Strategy::Rollback),
        over("admit, queued", Strategy::Enqueue),
        flow(
            "admit, interrupting what waits for children",
            Plot::Delegates,
            &[ADMIT, Lose(2)],
            &[AdmitKeyed(Strategy::Interrupt)],
        ),
    ]
}

fn steps() -> Vec<Flow> {
    use Act::{Brief, Talk, Twice, Work};
    vec![
        flow("step, an answer", Plot::Answers, &[Act::AdmitKeyed(Strategy::Reject)], &[Work]),
        flow("step, tools", Plot::Calls, &[ADMIT], &[Work]),
        flow("step, a durable task", Plot::Submits, &[ADMIT], &[Work]),
        flow("step, two invocations", Plot::Calls, &[ADMIT], &[Twice]),
        flow("hand-over", Plot::Hangs, &[ADMIT], &[Brief, Talk(Plot::Answers), Work]),
    ]
}

fn waits() -> Vec<Flow> {
    use Act::{Lose, Wait, Woken, Work};
    vec![
        flow("park, children", Plot::Delegates, &[ADMIT], &[Work]),
        flow("park, a question and its answer", Plot::Asks, &[ADMIT], &[Work, ADMIT, Work]),
        flow("park, a pause before another try", Plot::Pauses, &[ADMIT], &[Work, Wait(61), Work]),
        flow("wake, a child's end, doubled", Plot::Delegates, &[ADMIT, Lose(2), Wait(61)], &[Woken, Woken]),
        flow("wake, children that were lost", Plot::Delegates, &[ADMIT, Lose(2), Wait(61)], &[Work]),
    ]
}

fn ends() -> Vec<Flow> {
    use Act::{AdmitKeyed, Cancel, Lose, Work};
    let queued = [ADMIT, AdmitKeyed(Strategy::Enqueue)];
    let before = [ADMIT, Lose(1)];
    vec![
        flow("finish, failed", Plot::Fails, &[ADMIT], &[Work]),
        flow("finish, another has its turn", Plot::Answers, &queued, &[Work]),
        flow("cancel, interrupt", Plot::Answers, &before, &[Cancel(Action::Interrupt), Work]),
        flow("cancel, rollback", Plot::Answers, &before, &[Cancel(Action::Rollback), Work]),
        flow("cancel, with children", Plot::Delegates, &[ADMIT, Lose(2)], &[Cancel(Action::Interrupt), Work]),
        flow(
            "cancel, another has its turn",
            Plot::Answers,
            &[&queued[..], &[Lose(1)]].concat(),
            &[Cancel(Action::Interrupt), Work],
        ),
    ]
}

fn deliveries() -> Vec<Flow> {
    use Act::{Lose, Notify, Poll, Talk, Wait, Work};
    let before = [ADMIT, Work, LATER, Poll];
    let deliver = [Notify, Work, LATER, Notify];
    vec![
        flow("delivery by a run", Plot::Submits, &before, &deliver),
        flow(
            "delivery by a run that fails, and by another",
            Plot::Submits,
            &[&before[..], &[Talk(Plot::Fails)]].concat(),
            &[&deliver[..], &[Talk(Plot::Answers), Wait(11)], &deliver].concat(),
        ),
        flow(
            "delivery by runs that fail",
            Plot::Submits,
            &[&before[..], &[Talk(Plot::Fails)]].concat(),
            &deliver,
        ),
        flow(
            "delivery into a busy thread",
            Plot::Submits,
            &[&before[..], &[Talk(Plot::Answers), ADMIT, Lose(1)]].concat(),
            &[Notify, Wait(61), Work, Notify, Work, LATER, Notify],
        ),
    ]
}

fn deletions() -> Vec<Flow> {
    use Act::{Delete, Lose, Poll, Work};
    let deletes = [Delete, Poll, LATER, Poll, Work];
    vec![
        flow("delete, a run at work", Plot::Answers, &[ADMIT, Lose(1)], &deletes),
        flow("delete, a run that waits for children", Plot::Delegates, &[ADMIT, Lose(2)], &deletes),
        flow("delete, what has ended", Plot::Submits, &[ADMIT, Work], &deletes),
    ]
}
