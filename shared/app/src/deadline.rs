//! Deadlines that fit inside each other (DESIGN section 3): a call ends before its lease, and both before the invocation.

use std::time::Duration;

use pudu_domain::Timestamp;

/// What stays of a lease, and of an invocation, to write the outcome down.
const MARGIN: Duration = Duration::from_secs(5);

/// When an invocation is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline(Timestamp);

/// The time limit of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimit {
    /// How long it may take.
    pub time: Duration,
    /// Whether that is less than the server may take, because the invocation ends: a call that does not answer in time then
    /// says nothing of its server.
    pub cut: bool,
}

impl Deadline {
    /// The deadline at `at`.
    pub const fn at(at: Timestamp) -> Self {
        Self(at)
    }

    /// Time left at `now`; zero when it is over.
    pub const fn remaining(self, now: Timestamp) -> Duration {
        self.0.since(now)
    }

    /// The limit of a call to a server, or none when too little is left to begin one: the smallest of what the server is
    /// configured for, what is left of the lease less 5 s (half of it under 10 s), and what is left of the invocation less 5 s.
    pub fn call_limit(self, now: Timestamp, configured: Duration, lease_left: Duration) -> Option<CallLimit> {
        let within_lease =
            if lease_left < 2 * MARGIN { lease_left / 2 } else { lease_left.saturating_sub(MARGIN) };
        let own = configured.min(within_lease);
        let left = self.remaining(now).checked_sub(MARGIN).filter(|left| !left.is_zero())?;
        Some(CallLimit { time: own.min(left), cut: left < own })
    }

    /// Whether there is time to begin anything.
    pub fn allows_work(self, now: Timestamp) -> bool {
        now < self.last_beginning()
    }

    /// From when on nothing is begun.
    pub fn last_beginning(self) -> Timestamp {
        Timestamp::default() + self.remaining(Timestamp::default() + 2 * MARGIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(left: u64, configured: u64, lease: u64) -> Option<(u64, bool)> {
        let now = Timestamp::from_millis(0);
        let deadline = Deadline::at(now + Duration::from_secs(left));
        let limit = deadline.call_limit(now, Duration::from_secs(configured), Duration::from_secs(lease));
        limit.map(|limit| (limit.time.as_secs(), limit.cut))
    }

    #[test]
    fn the_smallest_limit_wins_and_says_if_it_was_the_invocations() {
        assert_eq!(limit(180, 60, 120), Some((60, false)));
        assert_eq!(limit(180, 600, 120), Some((115, false)));
        assert_eq!(limit(30, 60, 120), Some((25, true)));
        assert_eq!(limit(180, 60, 8), Some((4, false)));
    }

    #[test]
    fn no_work_begins_that_would_have_no_time() {
        let now = Timestamp::from_millis(0);
        assert!(Deadline::at(now + Duration::from_secs(11)).allows_work(now));
        assert!(!Deadline::at(now + Duration::from_secs(10)).allows_work(now));
    }

    #[test]
    fn no_call_begins_in_the_last_seconds() {
        assert_eq!(limit(5, 60, 120), None);
        assert_eq!(limit(0, 60, 120), None);
    }
}
