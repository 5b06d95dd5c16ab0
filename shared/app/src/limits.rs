//! How much a worker does at once, and for how long.

use std::time::Duration;

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
    /// How far ahead a worker waits for a due time instead of ending. Default 10 s.
    pub linger: Duration,
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
            front_door: Duration::from_secs(40),
        }
    }
}
