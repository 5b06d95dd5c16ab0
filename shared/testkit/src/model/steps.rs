//! Every step that can follow a state.

use pudu_domain::task::State as TaskState;

use super::images::{Claimed, Claiming, Image, lease, moment};
use super::state::{
    Asker, Delayed, Late, Left, Op, Remote, Serves, State, WORKERS, Wants, Who, Worker, Writing,
};
use super::write::{ANSWERED_TWICE, Broken, Fate, Rules, STILL_HELD, UNFIT};
use super::{Bent, Bounds};

/// How long a claim is held, in units.
const LEASE: i8 = 2;
/// How long a write may be under way, in units.
const LATEST: i8 = 1;

/// What a claim asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lasting {
    pub(super) serves: Serves,
    pub(super) nonce: u8,
    pub(super) until: i8,
}

/// One step, for a counterexample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    TimePasses,
    TheTaskGoesOn(Remote),
    LateWriteArrives,
    LateWriteIsLost,
    Dies(usize),
    GivesUp(usize),
    Claims(usize, Serves, Fate),
    ClaimsAgain(usize, Serves),
    Calls(usize, Op),
    Commits(usize, Op, Fate),
    CommitsAgain(usize, Op, Fate),
    ReadsAgain(usize),
    AskerReads(Wants),
    AskerWrites(Wants, Fate),
    AskerWritesAgain(Wants, Fate),
    AskerGivesUp(Wants),
}

type Next = (Step, Result<State, Broken>);

impl Rules {
    /// Every state that can follow.
    pub(super) fn next(&mut self, state: &State, bounds: &Bounds) -> Vec<Next> {
        let mut next = vec![(Step::TimePasses, Ok(self.later(state)))];
        remote_goes_on(state, &mut next);
        if state.late.is_some() {
            next.push((Step::LateWriteArrives, self.arrive(state)));
            next.push((Step::LateWriteIsLost, Ok(State { late: None, ..*state })));
        }
        for (at, skew) in (0..WORKERS).zip(bounds.skew) {
            self.worker(state, at, skew, &mut next);
        }
        for wants in Wants::ALL {
            self.asker(state, wants, &mut next);
        }
        next
    }

    fn later(&mut self, state: &State) -> State {
        let mut after = *state;
        after.row = self.images.later(after.row);
        for image in after.images() {
            *image = self.images.later(*image);
        }
        for at in after.moments() {
            *at = (*at - 1).max(-super::images::PAST);
        }
        for writing in after.writings() {
            if !self.images.is_current(writing.image) {
                writing.decided = 0;
            }
        }
        after.late = after.late.filter(|late| late.sent >= -LATEST);
        after
    }

    fn worker(&mut self, state: &State, at: usize, skew: i8, next: &mut Vec<Next>) {
        let Some(worker) = state.workers.get(at).copied() else { return };
        let who = Who::Worker(at);
        if let (Worker::Holds { .. } | Worker::Has { .. } | Worker::Woken { .. }, Some(left)) =
            (worker, state.left.without_a_crash())
        {
            let mut after = State { left, ..*state };
            after.set(at, Worker::Idle);
            next.push((Step::Dies(at), Ok(after)));
        }
        match worker {
            Worker::Idle => self.claims(state, at, skew, next),
            Worker::Claiming { serves, nonce, until } => {
                let mut after = *state;
                after.leave(who);
                after.set(at, Worker::Idle);
                next.push((Step::GivesUp(at), Ok(after)));
                let mut after = *state;
                after.leave(who);
                after.set(at, Worker::Idle);
                let won = self.claim(&mut after, at, Lasting { serves, nonce, until }, (skew, true));
                if won == Ok(true) {
                    after.set(at, Worker::Holds { serves, image: after.row });
                }
                next.push((Step::ClaimsAgain(at, serves), won.map(|_| after)));
            }
            Worker::Holds { serves, image } => {
                let vain = (!self.images.is_current(image)).then(|| self.images.vain(image));
                if serves == Serves::Poll && vain.is_none() && self.hands_over(state, (at, image, skew), next)
                {
                    return;
                }
                calls(state, at, (serves, image), vain, next);
            }
            Worker::Has { op, image } => match self.images.decide(image, op, skew) {
                Ok(Some(_)) => {
                    let writing = Writing { op, image, decided: skew, applied: false };
                    for (fate, from) in fates(state) {
                        let after = self.attempt(&from, who, writing, (fate, false), skew);
                        next.push((Step::Commits(at, op, fate), after));
                    }
                }
                // A command that does not fit the row that is held is a mistake of whoever holds it.
                Err(_) if self.images.is_current(image) => next.push((Step::Calls(at, op), Err(UNFIT))),
                Ok(None) | Err(_) => {
                    let mut after = *state;
                    after.set(at, Worker::Idle);
                    next.push((Step::GivesUp(at), Ok(after)));
                }
            },
            Worker::Unanswered(writing) => {
                let mut after = *state;
                after.leave(who);
                after.set(at, Worker::Idle);
                next.push((Step::GivesUp(at), Ok(after)));
                for (fate, from) in fates(state) {
                    let after = self.attempt(&from, who, writing, (fate, true), skew);
                    next.push((Step::CommitsAgain(at, writing.op, fate), after));
                }
            }
            Worker::Woken { op, image } => {
                let mut after = *state;
                let still_ours = self.images.is_current(image);
                after.set(at, if still_ours { Worker::Has { op, image: state.row } } else { Worker::Idle });
                next.push((Step::ReadsAgain(at), Ok(after)));
            }
        }
    }

    fn claims(&mut self, state: &State, at: usize, skew: i8, next: &mut Vec<Next>) {
        for serves in [Serves::Poll, Serves::Cancel, Serves::Intent] {
            let held = self.images.durable(state.row).lease.as_ref().map(|lease| lease.owner.clone());
            // A nonce that no claim of this worker's has that could still be seen.
            let nonce = (0..4).find(|nonce| {
                let under_way = matches!(state.late,
                    Some(Late { what: Delayed::Claim { worker, nonce: other, .. }, .. }) if (worker, other) == (at, *nonce));
                !under_way && held.as_ref() != Some(&lease(at, *nonce, 0).owner)
            });
            let claimed = Lasting { serves, nonce: nonce.unwrap_or(u8::MAX), until: skew + LEASE };
            let mut won = *state;
            match self.claim(&mut won, at, claimed, (skew, false)) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(broken) => {
                    next.push((Step::Claims(at, serves, Fate::Answered), Err(broken)));
                    continue;
                }
            }
            let Lasting { nonce, until, .. } = claimed;
            let waiting = Worker::Claiming { serves, nonce, until };
            for (fate, from) in fates(state) {
                let mut after = State { left: from.left, ..*state };
                match fate {
                    Fate::Answered => {
                        after = won;
                        after.set(at, Worker::Holds { serves, image: after.row });
                    }
                    Fate::AnswerLost => {
                        after = State { left: from.left, ..won };
                        after.set(at, waiting);
                    }
                    Fate::NotSent => after.set(at, waiting),
                    Fate::Delayed => {
                        after.set(at, waiting);
                        let what = Delayed::Claim { worker: at, serves, nonce, until };
                        after.late = Some(Late { who: Some(Who::Worker(at)), what, sent: skew });
                    }
                }
                next.push((Step::Claims(at, serves, fate), Ok(after)));
            }
        }
    }

    /// One attempt of a claim; whether its worker holds the row now.
    pub(super) fn claim(
        &mut self,
        state: &mut State,
        worker: usize,
        lasting: Lasting,
        (now, retried): (i8, bool),
    ) -> Result<bool, Broken> {
        let Lasting { serves, nonce, until } = lasting;
        let Some(lane) = serves.lane() else { return Ok(false) };
        match self.images.claim(Claiming { row: state.row, lane, worker, nonce, until, now, retried }) {
            Claimed::Stolen => Err(STILL_HELD),
            Claimed::Won(row) => {
                self.bump(state);
                state.row = row;
                Ok(true)
            }
            Claimed::WonBefore => Ok(true),
            Claimed::Refused => Ok(false),
        }
    }

    fn asker(&mut self, state: &State, wants: Wants, next: &mut Vec<Next>) {
        let mut after = *state;
        match state.asker(wants) {
            Asker::Gone => {}
            Asker::Idle => {
                // Who answers has seen a question.
                if wants == Wants::Cancel
                    || matches!(self.images.decide(state.row, wants.op(), 0), Ok(Some(_)))
                {
                    after.ask(wants, Asker::Read { image: state.row });
                    next.push((Step::AskerReads(wants), Ok(after)));
                }
            }
            Asker::Read { image } => {
                if let Ok(Some(_)) = self.images.decide(image, wants.op(), 0) {
                    let writing = Writing { op: wants.op(), image, decided: 0, applied: false };
                    for (fate, from) in fates(state) {
                        let after = self.attempt(&from, Who::Asker(wants), writing, (fate, false), 0);
                        next.push((Step::AskerWrites(wants, fate), after));
                    }
                } else {
                    // Nothing changes by it: it had ended, was asked for or answered before, or asks no more.
                    after.cancel_stands |= wants == Wants::Cancel && self.images.task(image).cancel.is_some();
                    after.ask(wants, Asker::Gone);
                    next.push((Step::AskerGivesUp(wants), Ok(after)));
                }
            }
            Asker::Unanswered(writing) => {
                after.leave(Who::Asker(wants));
                after.ask(wants, Asker::Gone);
                next.push((Step::AskerGivesUp(wants), Ok(after)));
                for (fate, from) in fates(state) {
                    let after = self.attempt(&from, Who::Asker(wants), writing, (fate, true), 0);
                    next.push((Step::AskerWritesAgain(wants, fate), after));
                }
            }
        }
    }

    /// A holder with an answer to hand over; whether there is one. It is sent and the task looked at in one step: what comes in
    /// between changes only what the look shows.
    fn hands_over(&self, state: &State, (at, image, now): (usize, Image, i8), next: &mut Vec<Next>) -> bool {
        let task = self.images.task(image);
        let Some(answer) = task.answer.as_ref().filter(|answer| answer.is_waiting()) else { return false };
        let mut comes = |op, remote, taken, left| {
            let mut after = State { remote, left, taken, ..*state };
            after.set(at, Worker::Has { op, image });
            next.push((Step::Calls(at, op), Ok(after)));
        };
        let (remote, taken, left) = (state.remote, state.taken, state.left);
        if task.durable.lease.as_ref().is_none_or(|lease| lease.until < moment(now)) {
            comes(Op::GiveBack, remote, taken, left);
            return true;
        }
        let fresh = answer.is_fresh(task.durable.generation) || self.bent == Some(Bent::AnswersBlindly);
        if remote != Remote::Asking {
            // Only who does not look sends what nobody asks for.
            if fresh && taken {
                next.push((Step::Calls(at, Op::GiveAnswer), Err(ANSWERED_TWICE)));
                return true;
            }
            return false;
        }
        comes(Op::Answered { sure: true, asking: false }, Remote::Working, true, left);
        if let Some(left) = left.without_a_fault() {
            comes(Op::Answered { sure: false, asking: false }, Remote::Working, true, left);
            comes(Op::Answered { sure: false, asking: true }, Remote::Asking, taken, left);
        }
        true
    }
}

/// What may become of a write, and what is left then.
fn fates(state: &State) -> Vec<(Fate, State)> {
    let mut fates = vec![(Fate::Answered, *state)];
    if let Some(unanswered) = state.left.unanswered.checked_sub(1) {
        let left = Left { unanswered, ..state.left };
        let after = State { left, ..*state };
        fates.extend([(Fate::AnswerLost, after), (Fate::NotSent, after)]);
        if let (Some(late), None) = (left.late.checked_sub(1), state.late) {
            fates.push((Fate::Delayed, State { left: Left { late, ..left }, ..*state }));
        }
    }
    fates
}

/// The server goes on by itself.
fn remote_goes_on(state: &State, next: &mut Vec<Next>) {
    let mut becomes = |remote, left| {
        next.push((Step::TheTaskGoesOn(remote), Ok(State { remote, left, ..*state })));
    };
    if matches!(state.remote, Remote::Working | Remote::Asking) {
        becomes(Remote::Completed, state.left);
    }
    if let (Remote::Working, Some(questions)) = (state.remote, state.left.questions.checked_sub(1)) {
        becomes(Remote::Asking, Left { questions, ..state.left });
    }
}

/// What a call to the server brings.
fn calls(state: &State, at: usize, (serves, image): (Serves, Image), vain: Option<Op>, next: &mut Vec<Next>) {
    let mut comes = |op, remote, left| {
        let mut after = State { remote, left, ..*state };
        after.set(at, Worker::Has { op: vain.unwrap_or(op), image });
        next.push((Step::Calls(at, op), Ok(after)));
    };
    let (remote, left) = (state.remote, state.left);
    let fault = left.without_a_fault();
    match serves {
        Serves::Submit => {
            comes(Op::Took, Remote::Working, left);
            if let Some(left) = fault {
                comes(Op::Refused, remote, left);
                comes(Op::Unknown, Remote::Working, left);
            }
        }
        Serves::Intent => comes(Op::Recover, remote, left),
        Serves::Poll => {
            let op = match remote {
                Remote::Absent | Remote::Working => Op::Working,
                Remote::Asking => Op::Asking,
                Remote::Completed => Op::Completed,
                Remote::Cancelled => Op::Cancelled,
            };
            comes(op, remote, left);
            if let Some(left) = fault {
                comes(Op::PollFailed, remote, left);
                comes(Op::GiveBack, remote, left);
            }
        }
        Serves::Cancel => {
            let (completed, ended) = match remote {
                Remote::Completed => (true, Remote::Completed),
                _ => (false, Remote::Cancelled),
            };
            comes(Op::CancelEnded { completed }, ended, left);
            if let Some(left) = fault {
                comes(Op::CancelFailed, remote, left);
                comes(Op::CancelFailed, ended, left);
            }
        }
    }
}

impl Left {
    fn without_a_fault(self) -> Option<Self> {
        self.faults.checked_sub(1).map(|faults| Self { faults, ..self })
    }

    fn without_a_crash(self) -> Option<Self> {
        self.crashes.checked_sub(1).map(|crashes| Self { crashes, ..self })
    }
}

/// Whether a state is an end: nothing changes any more.
pub(super) fn is_end(rules: &Rules, state: &State) -> bool {
    let task = rules.images.task(state.row);
    matches!(task.state, TaskState::Ended { .. }) && task.durable.due.is_none()
}
