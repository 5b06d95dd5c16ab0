//! The lease protocol, exhaustively: every interleaving of three workers, callers, a server, time, crashes and writes without
//! answers, on one task, within bounds that are written down in [`Bounds`].
//!
//! The steps are the real ones: [`pudu_domain::task::decide`], `Durable::claimed`, `Expect::holds` and `Expect::judge`, and the
//! fake store's claim, which the conformance suite holds the real store to. What is described here a second time is only the
//! order in which a worker makes them (`Settle::held` and `Settle::beside`).
//!
//! Times are kept relative to now and generations relative to the row's, so that the states are finitely many although time
//! and generations are not: the search ends by itself, and no run is too long for it. An own search and not a library's:
//! "from every state an end can be reached" is what must hold of a protocol with retries, and the checkers at hand have only
//! "eventually", which is defined for paths without cycles.

mod images;
mod search;
mod state;
mod steps;
mod write;

use std::fmt;

pub use search::check;

/// How much may go wrong in one run, and what takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Each worker's clock against the server's, in units; a lease has two of them, a pause between polls one.
    pub skew: [i8; 3],
    /// Writes without an answer.
    pub unanswered: u8,
    /// Calls that fail, and refusals of the server.
    pub faults: u8,
    /// Workers that die.
    pub crashes: u8,
    /// Of the writes without an answer, those that reach the table late, after their writer has gone on.
    pub late: u8,
    /// Whether somebody asks to cancel.
    pub cancel: bool,
    /// Questions of the server.
    pub questions: u8,
    /// Whether somebody answers. Whoever holds a claim sends as long as its lease lasts by his own clock, so clocks must not differ
    /// here: a worker's margin, which is far longer than any skew, is no part of the model.
    pub answer: bool,
    /// States after which the search gives up, as a guard against one that never ends.
    pub states: usize,
}

/// A condition that is not what it should be, to show that the properties are sharp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bent {
    /// A commit does not compare its generation.
    IgnoresGeneration,
    /// A commit does not compare the wake counter.
    IgnoresWake,
    /// A fence leaves the generation.
    FenceKeepsGeneration,
    /// A claim does not look at the lease.
    ClaimsLeased,
    /// A request to cancel leaves the due time as it was, and the cancel lane never sees it.
    ForgetsDue,
    /// Whoever holds a claim takes himself for the first who can send an answer.
    AnswersBlindly,
}

/// A property that does not hold, and the steps that show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counterexample {
    /// Which property.
    pub property: &'static str,
    /// The steps from the beginning.
    pub steps: Vec<String>,
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Different states.
    pub states: usize,
    /// Steps between them.
    pub steps: usize,
    /// Different decisions that were asked of the real state machine.
    pub decisions: usize,
    /// Steps of the longest shortest path.
    pub depth: usize,
    /// What does not hold, the first of each property.
    pub broken: Vec<Counterexample>,
}

impl Bounds {
    /// Nothing goes wrong but what clocks and interleavings bring.
    const NONE: Self = Self {
        skew: [-1, 0, 1],
        unanswered: 0,
        faults: 0,
        crashes: 0,
        late: 0,
        cancel: true,
        questions: 0,
        answer: false,
        states: 3_000_000,
    };
    /// Small enough for every test run: one kind of trouble each.
    pub const SMALL: [Self; 5] = [
        Self { unanswered: 1, ..Self::NONE },
        Self { faults: 1, ..Self::NONE },
        Self { crashes: 1, questions: 1, ..Self::NONE },
        Self { crashes: 1, ..Self::ANSWERED },
        Self { faults: 1, cancel: false, ..Self::ANSWERED },
    ];
    /// A question, and somebody who answers it.
    const ANSWERED: Self = Self { skew: [0; 3], questions: 1, answer: true, ..Self::NONE };
    /// What the nightly run searches.
    pub const LARGE: [Self; 2] = [
        Self { unanswered: 1, faults: 1, crashes: 1, late: 1, states: 60_000_000, ..Self::NONE },
        Self { unanswered: 1, faults: 1, crashes: 1, states: 60_000_000, ..Self::ANSWERED },
    ];
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { states, steps, decisions, depth, broken } = self;
        write!(
            f,
            "states {states}, steps {steps}, decisions {decisions}, depth {depth}, violations {}",
            broken.len()
        )
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.property)?;
        self.steps.iter().try_for_each(|step| writeln!(f, "  {step}"))
    }
}

#[cfg(test)]
mod tests;
