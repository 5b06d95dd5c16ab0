//! The token bucket that bounds how often somebody calls: it holds `burst` tokens, a call takes one, and they come back at a
//! steady rate. Pure.
//!
//! All that is kept of a bucket is the moment at which it is full again: taking moves that moment on, and a bucket whose moment
//! has passed is as good as none. So it is one number, nothing has to fill it, and its row may go when it is full.

use std::time::Duration;

use crate::time::Timestamp;

const MICROS: u64 = 1_000_000;
/// Microseconds that the clocks of instances may be apart.
const APART: u64 = 60 * MICROS;

/// How often somebody may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    per_second: u32,
    burst: u32,
}

impl Rate {
    /// Most tokens that come back in a second.
    pub const MOST_PER_SECOND: u32 = 10_000;
    /// Most tokens of a bucket.
    pub const MOST_BURST: u32 = 100_000;

    /// `per_second` calls for ever, and `burst` at once; none out of range or of zero.
    pub fn new(per_second: u32, burst: u32) -> Option<Self> {
        let fits =
            (1..=Self::MOST_PER_SECOND).contains(&per_second) && (1..=Self::MOST_BURST).contains(&burst);
        fits.then_some(Self { per_second, burst })
    }

    /// How many come back in a second.
    pub const fn per_second(self) -> u32 {
        self.per_second
    }

    /// Microseconds in which `tokens` come back. Rounded up, so that no rate is exceeded by what does not divide evenly.
    fn micros(self, tokens: u32) -> u64 {
        (u64::from(tokens) * MICROS).div_ceil(u64::from(self.per_second))
    }
}

/// A bucket, by the moment at which it is full: microseconds since the epoch, finer than [`Timestamp`], because a token may
/// come back in less than a millisecond. The default is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bucket {
    full_at: u64,
}

/// What taking from a bucket came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// As many as there were, or as were wanted.
    Some {
        /// How many; at least one.
        tokens: u32,
        /// The bucket after it.
        left: Bucket,
    },
    /// There is none.
    None {
        /// When there is one.
        wait: Duration,
    },
}

impl Bucket {
    /// The bucket that is full at so many microseconds since the epoch.
    pub const fn full_at(micros: u64) -> Self {
        Self { full_at: micros }
    }

    /// The emptiest of all that are full at `now`.
    pub const fn full_from(now: Timestamp) -> Self {
        Self::full_at(micros(now))
    }

    /// When it is full, in microseconds since the epoch.
    pub const fn micros(self) -> u64 {
        self.full_at
    }

    /// When it is full, rounded up.
    pub const fn ends(self) -> Timestamp {
        Timestamp::from_millis(self.full_at.div_ceil(1000))
    }

    /// Whether it is full at `now`.
    pub const fn is_full(self, now: Timestamp) -> bool {
        self.full_at <= micros(now)
    }

    /// Takes what there is, at most `wanted`.
    pub fn take(self, rate: Rate, now: Timestamp, wanted: u32) -> Taken {
        let now = micros(now);
        let whole = rate.micros(rate.burst);
        let missing = match self.full_at.saturating_sub(now) {
            // No clocks of two instances are so far apart: one was wrong and has been set back, and would lock its owner out
            // for as long.
            far if far > whole + APART => 0,
            // A bucket cannot be emptier than empty: who wrote that has a clock that is a bit ahead.
            missing => missing.min(whole),
        };
        let there = (whole - missing) * u64::from(rate.per_second) / MICROS;
        let tokens = u32::try_from(there).unwrap_or(u32::MAX).min(rate.burst).min(wanted);
        if tokens == 0 {
            let wait = (missing + rate.micros(1)).saturating_sub(whole);
            return Taken::None { wait: Duration::from_micros(wait) };
        }
        Taken::Some { tokens, left: Self::full_at(now + missing + rate.micros(tokens)) }
    }
}

const fn micros(at: Timestamp) -> u64 {
    at.as_millis().saturating_mul(1000)
}

#[cfg(test)]
mod tests;
