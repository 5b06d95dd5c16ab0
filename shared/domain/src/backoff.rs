//! How long to wait: after an answer, and after failures (reference 6.6).

use std::time::Duration;

use crate::policy::Policy;
use crate::snapshot::Status;

/// Longest pause that a server's hint can ask for.
pub const HINT_CAP: Duration = Duration::from_hours(24);

/// Shortest one: a server that asks for less would have one of its tasks polled without a pause, and each poll is paid for.
/// The shortest that the reference was measured with.
pub const HINT_FLOOR: Duration = Duration::from_millis(250);

/// Doublings after which the exponent stops growing.
const MAX_DOUBLINGS: u32 = 16;

/// Pause after the failure that follows `failures` earlier ones in a row.
pub fn after_failure(policy: &Policy, failures: u32) -> Duration {
    let factor = 1_u32 << failures.min(MAX_DOUBLINGS);
    policy.poll_interval.saturating_mul(factor).min(policy.max_backoff)
}

/// Pause after an answer with `status` that hinted at `hint`.
pub fn after_answer(policy: &Policy, status: Status, hint: Option<Duration>) -> Duration {
    let asked = hint.map_or(policy.poll_interval, |hint| hint.max(HINT_FLOOR));
    let least = if status == Status::InputRequired { policy.input_required_interval } else { Duration::ZERO };
    asked.max(least).min(HINT_CAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_double_up_to_the_cap() {
        let policy = Policy::default();
        let waits: Vec<u64> = (0..8).map(|c| after_failure(&policy, c).as_secs()).collect();
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(after_failure(&policy, u32::MAX).as_secs(), 300);
    }

    /// Vector 67.
    #[test]
    fn a_smaller_cap_holds() {
        let policy = Policy { max_backoff: Duration::from_secs(30), ..Policy::default() };
        assert_eq!(after_failure(&policy, 0).as_secs(), 5);
        assert_eq!(after_failure(&policy, 4).as_secs(), 30);
    }

    /// Vector 68 and the measured examples of reference 6.6.
    #[test]
    fn hints_are_bounded_and_questions_are_slower() {
        let policy = Policy::default();
        let wait = |status, hint: Option<f64>| {
            after_answer(&policy, status, hint.map(Duration::from_secs_f64)).as_secs_f64()
        };
        assert!((wait(Status::Working, None) - 5.0).abs() < 1e-9);
        assert!((wait(Status::Working, Some(0.25)) - 0.25).abs() < 1e-9);
        assert!((wait(Status::Working, Some(0.001)) - 0.25).abs() < 1e-9);
        assert!((wait(Status::InputRequired, Some(7.0)) - 60.0).abs() < 1e-9);
        assert!((wait(Status::Working, Some(900.0)) - 900.0).abs() < 1e-9);
        assert!((wait(Status::Working, Some(1e15)) - 86_400.0).abs() < 1e-9);
    }
}
