//! How a remote task lives, and plans drawn by chance.

use std::time::Duration;

use pudu_domain::Status;
use serde_json::{Value, json};

use crate::random::SeededRandom;

/// Gives the n-th task (from 0) its plan.
pub type Planner = Box<dyn FnMut(usize) -> Plan + Send>;

/// The life of one remote task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Its handle; none for one that no other task has.
    pub handle: Option<String>,
    /// How long it runs.
    pub runs_for: Duration,
    /// How it ends: completed, failed or cancelled.
    pub end: Status,
    /// Characters of its result.
    pub result_chars: usize,
    /// When it waits for input.
    pub questions: Vec<Question>,
    /// How it takes a request to cancel.
    pub on_cancel: OnCancel,
    /// How it takes an answer to its question.
    pub on_answer: OnAnswer,
    /// Which of its status answers, from 0, breaks the protocol.
    pub nonsense_at: Option<usize>,
    /// The poll hint that it gives.
    pub hint: Option<Duration>,
}

/// A time in which a task waits for input: until somebody answers, else it goes on by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// From this age of the task.
    pub from: Duration,
    /// To this age.
    pub until: Duration,
    /// What it asks.
    pub text: String,
}

/// How a task that is not over takes a request to cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnCancel {
    /// It ends.
    Ends,
    /// It says how it is, and goes on.
    Acknowledges,
    /// It answers with an error, and goes on.
    Refuses,
}

/// How a task takes an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnAnswer {
    /// It goes on.
    Takes,
    /// It takes it, and asks the same again.
    GoesOnAsking,
    /// It says that it is none, and waits.
    Refuses,
}

impl Plan {
    /// A task that runs for `runs_for`, asks nothing and completes.
    pub const fn completes_after(runs_for: Duration) -> Self {
        Self {
            handle: None,
            runs_for,
            end: Status::Completed,
            result_chars: 20,
            questions: Vec::new(),
            on_cancel: OnCancel::Ends,
            on_answer: OnAnswer::Takes,
            nonsense_at: None,
            hint: None,
        }
    }

    /// A plan drawn by chance: mostly well behaved, and within `longest` at its end.
    pub fn drawn(random: &SeededRandom, longest: Duration) -> Self {
        let longest_ms = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
        let runs_for =
            if random.chance(5) { Duration::ZERO } else { random.millis(100..longest_ms.max(101)) };
        let end = match random.below(10) {
            0..=6 => Status::Completed,
            7 | 8 => Status::Failed,
            _ => Status::Cancelled,
        };
        let on_cancel = match random.below(4) {
            0 => OnCancel::Acknowledges,
            1 => OnCancel::Refuses,
            _ => OnCancel::Ends,
        };
        let questions = if random.chance(30) { Question::drawn(random, runs_for) } else { Vec::new() };
        Self {
            handle: None,
            runs_for,
            end,
            result_chars: if random.chance(5) { 70_000 } else { 20 },
            questions,
            on_cancel,
            on_answer: OnAnswer::Takes,
            nonsense_at: random.chance(5).then(|| usize::try_from(random.below(3)).unwrap_or(0)),
            hint: random.chance(20).then(|| random.millis(1..10_000)),
        }
    }
}

impl Question {
    /// The question as the server asks it.
    pub fn asked(&self) -> Value {
        json!({"prompt": self.text, "schema": {"type": "string", "minLength": 1}})
    }

    /// One or two questions in the middle of a life; the second may be the first one again.
    fn drawn(random: &SeededRandom, runs_for: Duration) -> Vec<Self> {
        let fifth = runs_for / 5;
        let again = if random.chance(50) { "which year?" } else { "which month?" };
        let first = Self { from: fifth, until: fifth * 2, text: "which year?".into() };
        let second = Self { from: fifth * 3, until: fifth * 4, text: again.into() };
        if random.chance(50) { vec![first, second] } else { vec![first] }
    }
}
