//! One write on its way to the row: what may become of it, and what its writer hears.

use std::rc::Rc;

use pudu_domain::{Durable, Expect, Verdict};

use super::Bent;
use super::images::{Images, Planned, moment};
use super::state::{Asker, Delayed, Late, Op, Serves, State, Who, Worker, Writing};
use super::steps::Lasting;

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Answered,
    AnswerLost,
    NotSent,
    Delayed,
}

/// A property that a step broke.
pub(super) type Broken = &'static str;

pub(super) const OLD_GENERATION: Broken = "no write with an old generation is applied";
pub(super) const STILL_HELD: Broken = "nobody claims what is still held by his own clock";
pub(super) const TWO_COMMITS: Broken = "a generation has at most one holder's commit";
pub(super) const CANCEL_LOST: Broken = "no request to cancel is lost";
pub(super) const FALSELY_DONE: Broken = "what is judged done was applied";
pub(super) const FALSELY_LOST: Broken = "what is judged lost was not applied";
pub(super) const UNFIT: Broken = "what a holder commands fits the row that it holds";
pub(super) const ANSWERED_TWICE: Broken = "a server that took an answer is not given it again";
pub(super) const ENDLESS: Broken = "from every state an end can be reached";

/// The world's rules: the real ones, or bent.
pub(super) struct Rules {
    pub(super) images: Images,
    pub(super) bent: Option<Bent>,
}

impl Rules {
    fn holds(&self, expect: &Expect, row: &Durable, now: i8) -> bool {
        let seen = match (self.bent, expect) {
            (Some(Bent::IgnoresGeneration), Expect::Held { wake, .. }) => {
                &Expect::Held { generation: row.generation, wake: *wake }
            }
            (Some(Bent::IgnoresWake), Expect::Held { generation, .. }) => {
                &Expect::Held { generation: *generation, wake: row.wake }
            }
            _ => expect,
        };
        seen.holds(Some(row), moment(now))
    }

    fn planned(&mut self, writing: Writing) -> Option<Rc<Planned>> {
        self.images.decide(writing.image, writing.op, writing.decided).ok().flatten()
    }

    /// Applies a write if its condition holds by the clock that it was sent at; whether it did.
    fn apply(&mut self, state: &mut State, writing: Writing, now: i8) -> Result<bool, Broken> {
        let Some(planned) = self.planned(writing) else { return Ok(false) };
        if !self.holds(&planned.expect, self.images.durable(state.row), now) {
            return Ok(false);
        }
        let before = self.images.durable(writing.image);
        match planned.expect {
            Expect::Held { .. } if !self.images.is_current(writing.image) => return Err(OLD_GENERATION),
            Expect::Held { .. } if state.committed => return Err(TWO_COMMITS),
            Expect::Held { .. } => state.committed = true,
            _ if planned.durable.generation > before.generation => self.bump(state),
            _ if planned.durable.wake > before.wake => {
                for image in state.images() {
                    if self.images.is_current(*image) {
                        *image = self.images.unwoken(*image);
                    }
                }
            }
            _ => {}
        }
        state.row = planned.row;
        if state.cancel_stands && self.images.task(state.row).cancel.is_none() {
            return Err(CANCEL_LOST);
        }
        Ok(true)
    }

    /// The row's generation rises: whatever anybody remembers is older now.
    pub(super) fn bump(&mut self, state: &mut State) {
        for image in state.images() {
            *image = self.images.older(*image);
        }
        for writing in state.writings() {
            writing.decided = 0;
        }
        for worker in &mut state.workers {
            // To ask how a task is changes nothing in the world, and what was woken finds a newer generation.
            match *worker {
                Worker::Holds { serves: Serves::Poll | Serves::Intent, image } => {
                    *worker = Worker::Has { op: self.images.vain(image), image };
                }
                Worker::Woken { .. } => *worker = Worker::Idle,
                _ => {}
            }
        }
        for (op, image) in state.commands() {
            *op = self.images.vain(image);
        }
        state.committed = false;
    }

    /// One attempt of a write by its writer, whose clock shows `now`.
    pub(super) fn attempt(
        &mut self,
        state: &State,
        who: Who,
        writing: Writing,
        (fate, retried): (Fate, bool),
        now: i8,
    ) -> Result<State, Broken> {
        let mut after = *state;
        match fate {
            Fate::Answered => {
                // Its writer waits for the answer: nothing but its own late attempt can come in between.
                after.leave(who);
                if self.apply(&mut after, writing, now)? {
                    self.told(&mut after, who, writing, Verdict::Done)?;
                    return Ok(after);
                }
                let row = self.images.durable(after.row).clone();
                let verdict = match self.planned(writing) {
                    Some(planned) => planned.expect.judge(Some(&row), retried, moment(now)),
                    None => Verdict::Lost,
                };
                match verdict {
                    Verdict::Done if !writing.applied => return Err(FALSELY_DONE),
                    Verdict::Lost | Verdict::Woken if writing.applied => return Err(FALSELY_LOST),
                    _ => self.told(&mut after, who, writing, verdict)?,
                }
                return Ok(after);
            }
            Fate::AnswerLost => {
                // While it is under way its writer is marked, so that a rise of the generation finds what it remembers.
                after.wait(who, writing);
                let applied = self.apply(&mut after, writing, now)?;
                after.mark_applied(who, applied);
                return Ok(after);
            }
            Fate::NotSent => {}
            Fate::Delayed => {
                after.late = Some(Late { who: Some(who), what: Delayed::Write(writing), sent: now });
            }
        }
        after.wait(who, writing);
        Ok(after)
    }

    /// What its writer hears, and does next.
    fn told(&self, state: &mut State, who: Who, writing: Writing, verdict: Verdict) -> Result<(), Broken> {
        match who {
            Who::Worker(at) => {
                let next = match verdict {
                    Verdict::Woken => Worker::Woken { op: writing.op, image: writing.image },
                    Verdict::Done | Verdict::Lost | Verdict::Unknown => Worker::Idle,
                };
                state.set(at, next);
            }
            Who::Asker(wants) => match verdict {
                Verdict::Done => {
                    state.ask(wants, Asker::Gone);
                    state.cancel_stands |= writing.op == Op::RequestCancel;
                    if state.cancel_stands && self.images.task(state.row).cancel.is_none() {
                        return Err(CANCEL_LOST);
                    }
                }
                // It reads again.
                Verdict::Lost | Verdict::Woken | Verdict::Unknown => state.ask(wants, Asker::Idle),
            },
        }
        Ok(())
    }

    /// The late write reaches the table; nobody hears what becomes of it.
    pub(super) fn arrive(&mut self, state: &State) -> Result<State, Broken> {
        let mut after = *state;
        let Some(Late { who, what, sent }) = after.late.take() else { return Ok(after) };
        match what {
            Delayed::Write(writing) => {
                let applied = self.apply(&mut after, writing, sent)?;
                if let Some(who) = who {
                    after.mark_applied(who, applied);
                }
            }
            Delayed::Claim { worker, serves, nonce, until } => {
                self.claim(&mut after, worker, Lasting { serves, nonce, until }, (sent, false))?;
            }
        }
        Ok(after)
    }
}
