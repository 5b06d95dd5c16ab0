//! Rows as small numbers: each different row, with its times relative to now and its generation relative to the stored one, is
//! kept once, and each decision about it is asked of the state machine once.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::Duration;

use pudu_domain::task::{
    Attention, Change, Command, Context, Given, Heard, PayloadWrite, Phase, Refusal, Rejected, Sent, Stand,
    State as TaskState, Tracking, decide, intend, question_digest,
};
use pudu_domain::{
    Due, Durable, Expect, Generation, Lane, Lease, Owner, Payload, Policy, Snapshot, Status, Task, TaskSpec,
    Timestamp,
};

use super::Bent;
use super::state::Op;
use crate::fixture::{remote, said, task_key, thread, wanted};
use crate::table::Attempt;
use crate::table::rows::{Claim, claim};

/// One row, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Image(u32);

/// The unit of time: a lease has two of them.
const UNIT: u64 = 1000;
/// Now, in every state.
const NOW: u64 = 1_000_000;
/// The generation and the wake counter of the stored row, in every state; what is older has one less.
const NEWEST: u64 = 10;
/// Units after which the past is all the same: longer than any lease, skew and late write together.
pub(super) const PAST: i8 = 3;

/// What the state machine says.
type Decided = Result<Option<Rc<Planned>>, Rejected>;

/// A change, and the row that it makes.
pub(super) struct Planned {
    pub(super) expect: Expect,
    pub(super) durable: Durable,
    pub(super) row: Image,
}

/// A claim: of which row, by whom, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Claiming {
    pub(super) row: Image,
    pub(super) lane: Lane,
    pub(super) worker: usize,
    pub(super) nonce: u8,
    pub(super) until: i8,
    pub(super) now: i8,
    pub(super) retried: bool,
}

/// What comes of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claimed {
    /// The row as it is then.
    Won(Image),
    /// It was won before.
    WonBefore,
    Refused,
    /// It was won although somebody holds it by the claimer's own clock.
    Stolen,
}

/// Every row that was ever seen.
pub(super) struct Images {
    tasks: Vec<Task>,
    ids: HashMap<String, Image>,
    older: HashMap<Image, Image>,
    slept: HashMap<Image, Image>,
    unwoken: HashMap<Image, Image>,
    decided: HashMap<(Image, Op, i8), Decided>,
    claims: HashMap<Claiming, Claimed>,
    bent: Option<Bent>,
    payloads: BTreeMap<String, Payload>,
    policy: Policy,
    intended: TaskSpec,
}

/// A moment relative to now.
pub(super) fn moment(units: i8) -> Timestamp {
    Timestamp::from_millis(NOW.saturating_add_signed(i64::from(units) * 1000))
}

/// The lease that a claim asks for.
pub(super) fn lease(worker: usize, nonce: u8, until: i8) -> Lease {
    Lease { owner: Owner::new(&format!("w{worker}"), u64::from(nonce)), until: moment(until) }
}

impl Images {
    /// No rows but the intent that is the beginning, leased to the submitter for two units.
    pub(super) fn new(bent: Option<Bent>) -> (Self, Image) {
        let born = intend(wanted(&task_key(&thread("t"), moment(0), 1)), lease(0, 0, 2), moment(0));
        let unit = Duration::from_millis(UNIT);
        let policy = Policy {
            poll_interval: unit,
            input_required_interval: unit,
            max_backoff: unit * 2,
            cancel_deadline: unit * 2,
            ..Policy::default()
        };
        let intended = born.spec.clone().unwrap_or_else(|| unreachable!("an intent has a spec"));
        let mut images = Self {
            tasks: Vec::new(),
            ids: HashMap::new(),
            older: HashMap::new(),
            slept: HashMap::new(),
            unwoken: HashMap::new(),
            decided: HashMap::new(),
            claims: HashMap::new(),
            bent,
            payloads: BTreeMap::new(),
            policy,
            intended,
        };
        let intent = images.stored(born.task);
        (images, intent)
    }

    pub(super) fn task(&self, image: Image) -> &Task {
        self.tasks.get(image.0 as usize).unwrap_or_else(|| unreachable!("an image that was never made"))
    }

    pub(super) fn durable(&self, image: Image) -> &Durable {
        &self.task(image).durable
    }

    /// What a worker with an older image is taken to want: nothing of it can be written, whatever it is.
    pub(super) fn vain(&self, image: Image) -> Op {
        if matches!(self.task(image).state, TaskState::Intent { .. }) { Op::Recover } else { Op::Working }
    }

    pub(super) fn decisions(&self) -> usize {
        self.decided.len()
    }

    /// Whether an image is of the stored row's generation.
    pub(super) fn is_current(&self, image: Image) -> bool {
        self.durable(image).generation == Generation::new(NEWEST)
    }

    /// A row as it is stored.
    pub(super) fn stored(&mut self, mut task: Task) -> Image {
        let risen = task.durable.generation.number().saturating_sub(NEWEST);
        if let Some(answer) = &mut task.answer {
            // Of how long ago it was given only whether one claim came since is ever asked.
            let given_in = answer.given_in.number().saturating_sub(risen).max(NEWEST - 2);
            answer.given_in = Generation::new(given_in);
        }
        task.durable.generation = Generation::new(NEWEST);
        task.durable.wake = NEWEST;
        self.keep(task)
    }

    /// What somebody remembers of a row that was claimed or fenced since. Nothing of what it says can be written any more
    /// (if it is, that is a violation whatever it says), so only what the state machine asks for is kept: one row for
    /// all intents, one for all tracked tasks that ask, one for all others.
    pub(super) fn older(&mut self, image: Image) -> Image {
        if let Some(older) = self.older.get(&image) {
            return *older;
        }
        let task = self.task(image);
        let mut stale = task.clone();
        stale.durable.generation = Generation::new(NEWEST - 1);
        stale.durable.wake = NEWEST;
        stale.durable.due = Some(Due { lane: Lane::Poll, at: moment(0) });
        if stale.durable.lease.is_some() {
            stale.durable.lease = Some(lease(0, 0, 0));
        }
        stale.cancel = None;
        stale.answer = None;
        stale.attention = Attention::default();
        stale.tracking = Tracking::default();
        stale.error = None;
        match &mut stale.state {
            TaskState::Intent { deadline } => *deadline = moment(0),
            TaskState::Active { phase: Phase::InputRequired, next_poll_at } => *next_poll_at = moment(0),
            TaskState::Active { phase, next_poll_at } => {
                (*phase, *next_poll_at) = (Phase::Working, moment(0));
                stale.payload = None;
            }
            TaskState::Ended { .. } => stale.payload = None,
        }
        let older = self.keep(stale);
        self.older.insert(image, older);
        older
    }

    /// What somebody remembers of a row that was written beside its holder since.
    pub(super) fn unwoken(&mut self, image: Image) -> Image {
        if let Some(unwoken) = self.unwoken.get(&image) {
            return *unwoken;
        }
        let mut task = self.task(image).clone();
        task.durable.wake = NEWEST - 1;
        let unwoken = self.keep(task);
        self.unwoken.insert(image, unwoken);
        unwoken
    }

    /// The same row a unit later.
    pub(super) fn later(&mut self, image: Image) -> Image {
        if let Some(later) = self.slept.get(&image) {
            return *later;
        }
        let current = self.is_current(image);
        let mut task = self.task(image).clone();
        if current {
            each_moment(&mut task, |at| Timestamp::from_millis(at.as_millis() - UNIT));
        }
        let later = self.keep(task);
        self.slept.insert(image, later);
        later
    }

    fn keep(&mut self, mut task: Task) -> Image {
        let now = moment(0);
        (task.created_at, task.updated_at) = (now, now);
        task.tracking.last_polled_at = task.tracking.last_polled_at.map(|_| now);
        if let TaskState::Ended { at, .. } = &mut task.state {
            *at = now;
        }
        each_moment(&mut task, |at| at.max(moment(-PAST)));
        let name = format!("{task:?}");
        if let Some(image) = self.ids.get(&name) {
            return *image;
        }
        let image = Image(u32::try_from(self.tasks.len()).unwrap_or(u32::MAX));
        self.tasks.push(task);
        self.ids.insert(name, image);
        image
    }

    /// What the state machine makes of a command.
    pub(super) fn decide(&mut self, image: Image, op: Op, decided: i8) -> Decided {
        if let Some(known) = self.decided.get(&(image, op, decided)) {
            return known.clone();
        }
        let task = self.task(image);
        let tracked = !matches!(task.state, TaskState::Intent { .. });
        let spec = TaskSpec { remote: tracked.then(|| remote("r")), ..self.intended.clone() };
        let stored = task.payload.as_ref().and_then(|digest| self.payloads.get(digest));
        let payload = stored.cloned().unwrap_or_default();
        let context = Context { spec: &spec, payload: &payload, policy: &self.policy };
        let outcome = decide(task, command(op, moment(decided), &payload), moment(decided), context);
        if let Ok(Some(Change { task, payload: PayloadWrite::Put(payload), .. })) = &outcome
            && let Some(digest) = &task.payload
        {
            self.payloads.insert(digest.clone(), payload.clone());
        }
        let outcome = outcome.map(|change| change.map(|change| Rc::new(self.planned(image, change))));
        self.decided.insert((image, op, decided), outcome.clone());
        outcome
    }

    fn planned(&mut self, image: Image, change: Change) -> Planned {
        let Change { expect, mut task, .. } = change;
        let fence = matches!(expect, Expect::Unchanged { .. });
        match self.bent {
            Some(Bent::FenceKeepsGeneration) if fence => {
                task.durable.generation = self.durable(image).generation;
            }
            Some(Bent::ForgetsDue) if fence => task.durable.due = None,
            _ => {}
        }
        Planned { expect, durable: task.durable.clone(), row: self.stored(task) }
    }

    /// What comes of a claim: the fake store's own answer.
    pub(super) fn claim(&mut self, claiming: Claiming) -> Claimed {
        if let Some(known) = self.claims.get(&claiming) {
            return *known;
        }
        let Claiming { row, lane, worker, nonce, until, now, retried } = claiming;
        let mut task = self.task(row).clone();
        let held = task.durable.lease.as_ref().is_some_and(|lease| lease.until >= moment(now));
        if self.bent == Some(Bent::ClaimsLeased) {
            task.durable.lease = None;
        }
        let attempt = Attempt { now: moment(now), retried };
        let claimed = match claim(&task.durable, lane, lease(worker, nonce, until), attempt) {
            Claim::Won(_) if held => Claimed::Stolen,
            Claim::Won(durable) => {
                task.durable = durable;
                Claimed::Won(self.stored(task))
            }
            Claim::WonBefore => Claimed::WonBefore,
            Claim::Refused | Claim::Unreadable(_) => Claimed::Refused,
        };
        self.claims.insert(claiming, claimed);
        claimed
    }
}

/// The moments that a decision or a condition may look at.
fn each_moment(task: &mut Task, change: impl Fn(Timestamp) -> Timestamp) {
    let apply = |at: &mut Timestamp| *at = change(*at);
    match &mut task.state {
        TaskState::Intent { deadline } => apply(deadline),
        TaskState::Active { next_poll_at, .. } => apply(next_poll_at),
        TaskState::Ended { .. } => {}
    }
    if let Some(due) = &mut task.durable.due {
        apply(&mut due.at);
    }
    if let Some(lease) = &mut task.durable.lease {
        apply(&mut lease.until);
    }
    if let Some(cancel) = &mut task.cancel {
        apply(&mut cancel.requested_at);
        apply(&mut cancel.until);
        cancel.next_at.as_mut().map(apply);
    }
    if let Some(Stand::Taken { at }) = task.answer.as_mut().map(|answer| &mut answer.stand) {
        apply(at);
    }
}

fn command(op: Op, now: Timestamp, payload: &Payload) -> Command {
    match op {
        Op::Took => Command::RecordSubmit {
            remote: remote("r"),
            snapshot: Snapshot::bare(Status::Submitted),
            started_at: now,
        },
        Op::Refused => Command::RecordRefusal(Refusal::Refused("no".into())),
        Op::Unknown => Command::RecordRefusal(Refusal::Unknown("no answer".into())),
        Op::Working => Command::RecordStatus(said(Status::Working)),
        Op::Asking => Command::RecordStatus(said(Status::InputRequired)),
        Op::Completed => Command::RecordStatus(said(Status::Completed)),
        Op::Cancelled => Command::RecordStatus(said(Status::Cancelled)),
        Op::PollFailed => Command::RecordPollFailure("no answer".into()),
        Op::CancelEnded { completed: true } => Command::RecordCancel(said(Status::Completed)),
        Op::CancelEnded { completed: false } => Command::RecordCancel(said(Status::Cancelled)),
        Op::CancelFailed => Command::RecordCancelFailure("no answer".into()),
        Op::Recover => Command::Recover,
        Op::GiveBack => Command::GiveBack,
        Op::RequestCancel => Command::RequestCancel,
        Op::GiveAnswer => Command::GiveAnswer(Given {
            question: payload.input_required.as_ref().map(question_digest).unwrap_or_default(),
            version: None,
            input: "2026".into(),
        }),
        Op::Answered { sure, asking } => Command::RecordAnswer {
            sent: if sure { Sent::Taken } else { Sent::Unsure("no answer".into()) },
            heard: Some(Heard::Status(said(if asking { Status::InputRequired } else { Status::Working }))),
        },
    }
}
