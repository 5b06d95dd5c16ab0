//! Our own retries: they read the clock again for each attempt and remember whether an earlier one ended in silence.
//!
//! The SDK's retries are off, because a write whose answer was lost may have been applied: its repetition then fails its
//! own condition, and only whoever knows that there was an earlier attempt can tell that from having lost.

use std::future::Future;
use std::time::Duration;

use pudu_app::ports::{Clock, Random, StoreError};
use pudu_domain::Timestamp;

use crate::classify::{BoxError, Element, Fault};
use crate::row::Row;

#[cfg(test)]
mod tests;

/// How often, and for how long, a request is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// Attempts in all. Default 4.
    pub attempts: u32,
    /// Longest pause before the second attempt; it doubles from there. Default 50 ms.
    pub first_pause: Duration,
    /// Longest pause of all. Default 1 s.
    pub longest_pause: Duration,
    /// No attempt begins later than this after the first one began. Default 10 s.
    pub budget: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            attempts: 4,
            first_pause: Duration::from_millis(50),
            longest_pause: Duration::from_secs(1),
            budget: Duration::from_secs(10),
        }
    }
}

/// What a request came to.
#[derive(Debug)]
pub(crate) enum Answer<T> {
    /// It succeeded.
    Done(T),
    /// A condition failed.
    Failed(Failed),
}

/// A failed condition, with what is needed to judge it.
#[derive(Debug)]
pub(crate) struct Failed {
    /// Per element of the write.
    pub(crate) elements: Vec<Element>,
    /// Whether an earlier attempt ended without a definite answer. A rejected attempt was certainly not applied.
    pub(crate) retried: bool,
    /// The clock's time of the attempt that failed.
    pub(crate) now: Timestamp,
}

impl Failed {
    /// Whether the element's own condition failed.
    pub(crate) fn is_failed(&self, element: usize) -> bool {
        matches!(self.elements.get(element), Some(Element::Failed(_)))
    }

    /// The row that failed the element's condition, if there was one.
    pub(crate) fn row(&self, element: usize) -> Option<&Row> {
        match self.elements.get(element) {
            Some(Element::Failed(row)) => row.as_ref(),
            Some(Element::Passed) | None => None,
        }
    }
}

impl Retries {
    /// Runs `attempt` with the clock's time until it has an answer or the retries are over.
    pub(crate) async fn run<T, F>(
        &self,
        operation: &'static str,
        clock: &dyn Clock,
        random: &dyn Random,
        mut attempt: impl FnMut(Timestamp) -> F + Send,
    ) -> Result<Answer<T>, StoreError>
    where
        T: Send,
        F: Future<Output = Result<T, Fault>> + Send,
    {
        let started = clock.now();
        let mut retried = false;
        let mut attempts = 0;
        loop {
            let now = clock.now();
            let (source, silent) = match attempt(now).await {
                Ok(value) => return Ok(Answer::Done(value)),
                Err(Fault::Condition(elements)) => {
                    return Ok(Answer::Failed(Failed { elements, retried, now }));
                }
                // After a silence even a refusal leaves open whether the earlier attempt was applied.
                Err(Fault::Refused(source) | Fault::Unfit(source)) if retried => {
                    return Err(StoreError::Unavailable { operation, source });
                }
                Err(Fault::Refused(source) | Fault::Unfit(source)) => {
                    return Err(StoreError::Refused { operation, source });
                }
                Err(Fault::Rejected(source)) => (source, false),
                Err(Fault::Unanswered(source)) => (source, true),
            };
            retried |= silent;
            attempts += 1;
            let pause = self.pause(attempts, random);
            if attempts >= self.attempts || clock.now().since(started) + pause > self.budget {
                return Err(StoreError::Unavailable { operation, source });
            }
            log_retry(operation, attempts, &source);
            clock.sleep(pause).await;
        }
    }

    /// The pause after attempt number `attempts`: exponential, and anywhere in its upper half, so that those who
    /// collided do not meet again.
    fn pause(&self, attempts: u32, random: &dyn Random) -> Duration {
        let doubled = self.first_pause.saturating_mul(1 << (attempts - 1).min(16));
        let longest = doubled.min(self.longest_pause);
        let mut byte = [0];
        random.fill(&mut byte);
        longest / 2 + longest / 2 * u32::from(u8::from_be_bytes(byte)) / 255
    }
}

fn log_retry(operation: &'static str, attempts: u32, source: &BoxError) {
    tracing::debug!(store.operation = operation, store.attempts = attempts, error = %source, "the table is asked again");
}
