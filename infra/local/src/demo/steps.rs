//! The steps of a story: one line each, with the time since the start; and which one was under way when it failed.

use std::cell::Cell;

use anyhow::anyhow;
use pudu_app::ports::Clock;
use pudu_domain::Timestamp;
use pudu_lambda::clock::SystemClock;

use crate::say;

/// The story so far.
pub(super) struct Steps {
    began: Timestamp,
    current: Cell<&'static str>,
}

impl Steps {
    pub(super) fn begin() -> Self {
        Self { began: SystemClock.now(), current: Cell::new("start") }
    }

    /// From here on, a failure is one of `step`.
    pub(super) fn next(&self, step: &'static str) {
        self.current.set(step);
    }

    /// The step was seen.
    pub(super) fn seen(&self, what: &str) {
        say::line(&format!("{:7.3} s  {}: {what}", self.elapsed(), self.current.get()));
    }

    /// The error of a story that ends in the current step; without a cause somebody interrupted it.
    pub(super) fn failed(&self, cause: Option<anyhow::Error>) -> anyhow::Error {
        let (step, elapsed) = (self.current.get(), self.elapsed());
        match cause {
            Some(cause) => cause.context(format!("the demo failed at step '{step}' after {elapsed:.1} s")),
            None => anyhow!("the demo was interrupted at step '{step}' after {elapsed:.1} s"),
        }
    }

    fn elapsed(&self) -> f64 {
        SystemClock.now().since(self.began).as_secs_f64()
    }
}
