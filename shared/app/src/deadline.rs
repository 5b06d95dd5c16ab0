//! Deadlines that fit inside each other (DESIGN section 3): a call ends before its lease, and both before the invocation.

use std::time::Duration;

use pudu_domain::Timestamp;

/// What stays of a lease, and of an invocation, to write the outcome down.
const MARGIN: Duration = Duration::from_secs(5);

/// When an invocation is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline(Timestamp);

impl Deadline {
    /// The deadline at `at`.
    pub const fn at(at: Timestamp) -> Self {
        Self(at)
    }

    /// Time left at `now`; zero when it is over.
    pub const fn remaining(self, now: Timestamp) -> Duration {
        self.0.since(now)
    }

    /// The time limit of one call to a server, or none when too little is left to begin one: the smallest of what the
    /// server is configured for, the lease less 5 s (half of a lease under 10 s), and what is left less 5 s.
    pub fn call_limit(self, now: Timestamp, configured: Duration, lease: Duration) -> Option<Duration> {
        let within_lease = if lease < 2 * MARGIN { lease / 2 } else { lease.saturating_sub(MARGIN) };
        let left = self.remaining(now).checked_sub(MARGIN).filter(|left| !left.is_zero())?;
        Some(configured.min(within_lease).min(left))
    }

    /// Whether there is time to begin anything: a call that could only be short would fail for want of time, and count
    /// against its server.
    pub fn allows_work(self, now: Timestamp) -> bool {
        self.remaining(now) > 2 * MARGIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(left: u64, configured: u64, lease: u64) -> Option<u64> {
        let now = Timestamp::from_millis(0);
        let deadline = Deadline::at(now + Duration::from_secs(left));
        deadline
            .call_limit(now, Duration::from_secs(configured), Duration::from_secs(lease))
            .map(|l| l.as_secs())
    }

    #[test]
    fn the_smallest_limit_wins() {
        assert_eq!(limit(180, 60, 120), Some(60));
        assert_eq!(limit(180, 600, 120), Some(115));
        assert_eq!(limit(30, 60, 120), Some(25));
        assert_eq!(limit(180, 60, 8), Some(4));
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
