//! The scripts that are needed again and again.

use std::time::Duration;

use super::{Call, Fate, Script};
use crate::random::SeededRandom;

/// Every call passes.
#[derive(Debug, Clone, Copy)]
pub struct Open;

impl Script for Open {
    fn fate(&mut self, _: Call<'_>) -> Fate {
        Fate::Pass
    }
}

/// The worker dies at one call: to be run for every number until the whole run is survived.
#[derive(Debug, Clone, Copy)]
pub struct CrashAt {
    /// At which call, from 0.
    pub number: u64,
    /// Whether that call is still carried out.
    pub after: bool,
}

impl Script for CrashAt {
    fn fate(&mut self, call: Call<'_>) -> Fate {
        match (call.number == self.number, self.after) {
            (false, _) => Fate::Pass,
            (true, false) => Fate::CrashBefore,
            (true, true) => Fate::CrashAfter,
        }
    }
}

/// Mishaps by chance, each in so many of 1,000 calls.
#[derive(Debug)]
pub struct Mishaps {
    /// Where the chances come from.
    pub random: SeededRandom,
    /// Crashes, half of them after the call.
    pub crash: u64,
    /// Calls that fail, half of them after they were carried out.
    pub fail: u64,
    /// Calls that are slow, half of them after they were carried out.
    pub slow: u64,
    /// Longest slowness.
    pub slowest: Duration,
}

impl Script for Mishaps {
    fn fate(&mut self, _: Call<'_>) -> Fate {
        // Always three draws, so that one chance changed does not shift all others.
        let (drawn, after, slowness) = (self.random.below(1000), self.random.chance(50), self.random.next());
        let longest = u64::try_from(self.slowest.as_millis()).unwrap_or(u64::MAX).max(1);
        let by = Duration::from_millis(slowness % longest);
        match (drawn, after) {
            (n, false) if n < self.crash => Fate::CrashBefore,
            (n, true) if n < self.crash => Fate::CrashAfter,
            (n, false) if n < self.crash + self.fail => Fate::FailBefore,
            (n, true) if n < self.crash + self.fail => Fate::LoseAnswer,
            (n, false) if n < self.crash + self.fail + self.slow => Fate::Delay(by),
            (n, true) if n < self.crash + self.fail + self.slow => Fate::Late(by),
            _ => Fate::Pass,
        }
    }
}
