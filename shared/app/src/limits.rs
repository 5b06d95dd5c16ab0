//! How much a worker does at once, and for how long.

use std::time::Duration;

/// Longest time between two looks through the index: what nobody left word of is found by then.
const MOST_BETWEEN: Duration = Duration::from_secs(15);
/// How far the index may be behind.
const BEHIND: Duration = Duration::from_secs(5);

/// Limits of one worker process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long a claim is held. Default 120 s; below the function's own timeout, so that what a killed process held is
    /// free again when the next one looks.
    pub lease: Duration,
    /// Claims worked on at once. Default 64.
    pub at_once: usize,
    /// Of those, for one server. Default 8.
    pub at_once_per_server: usize,
    /// How far ahead a worker waits for a due time instead of ending. Default 10 s; where ticks are rarer than that, the time
    /// between two of them, or what is due in between would wait for the next.
    pub linger: Duration,
    /// How long a beacon shines without being renewed. Default 15 s; it is renewed three times as often.
    pub beacon: Duration,
    /// The period of the schedule that ticks the background functions. Default 60 s, as in the cloud; shorter on one machine.
    pub schedule: Duration,
    /// How late a row must be for a tick to work on it while somebody else is awake. Default 10 s.
    pub overdue: Duration,
    /// Longest that a caller of the gateway waits for a tool: finding it and calling it. Default 40 s, so that a
    /// submission is recorded, or undone, inside the gateway's own 60 s.
    pub front_door: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(120),
            at_once: 64,
            at_once_per_server: 8,
            linger: Duration::from_secs(10),
            beacon: Duration::from_secs(15),
            schedule: Duration::from_secs(60),
            overdue: Duration::from_secs(10),
            front_door: Duration::from_secs(40),
        }
    }
}

impl Limits {
    /// How long nobody may have been seen at work until it is said that nobody works: two periods of the schedule, and
    /// never less than a beacon shines, because whoever is at work writes it in between.
    pub fn unattended(&self) -> Duration {
        (self.schedule * 2).max(self.beacon)
    }

    /// How far ahead a worker looks: what is due by then it knows before it is due, so it need not look again for that.
    pub fn ahead(&self) -> Duration {
        self.linger + self.linger.min(MOST_BETWEEN + BEHIND)
    }

    /// Between two looks through the whole index, when nothing asks for one: less than it looks ahead, by more than the
    /// index may be behind; never more often than each second, and never rarer than every 15.
    pub fn between_passes(&self) -> Duration {
        (self.linger * 3 / 2).clamp(Duration::from_secs(1), MOST_BETWEEN)
    }
}
