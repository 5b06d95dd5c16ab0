//! The block `token_budget`: most tokens of a run that users began (agent reference 1.4, row 29). A subagent's budget is its type's.

use super::{bounded, part};
use crate::reader::Reader;

/// The block. Without it, and without `enabled`, there is no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBudget {
    /// Whether there is one. Default false.
    pub enabled: bool,
    /// Most tokens, 1000 to 1,000,000,000. Default 200,000.
    pub max_tokens: u64,
    /// At which part of it the model is warned, 0 to 1. Default 0.8.
    pub warn: f64,
    /// At which part of it the run is ended, 0 to 1. Default 1.
    pub stop: f64,
}

impl Default for TokenBudget {
    fn default() -> Self {
        Self { enabled: false, max_tokens: 200_000, warn: 0.8, stop: 1.0 }
    }
}

impl TokenBudget {
    pub(super) fn read(top: &mut Reader<'_>) -> Self {
        let default = Self::default();
        let Some(mut block) = top.object("token_budget") else { return default };
        let mut read = Self {
            enabled: block.bool("enabled", default.enabled),
            max_tokens: bounded(&mut block, "max_tokens", (1000, 1_000_000_000))
                .unwrap_or(default.max_tokens),
            warn: part(&mut block, "warn_threshold").unwrap_or(default.warn),
            stop: part(&mut block, "hard_stop_threshold").unwrap_or(default.stop),
        };
        if read.stop < read.warn {
            block.warn("hard_stop_threshold", "is less than warn_threshold; both have their defaults");
            (read.warn, read.stop) = (default.warn, default.stop);
        }
        read
    }

    /// Tokens at which the model is warned.
    pub fn warns_at(&self) -> u64 {
        self.tokens(self.warn)
    }

    /// Tokens at which the run is ended.
    pub fn stops_at(&self) -> u64 {
        self.tokens(self.stop)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a part from 0 to 1 of a number far below 2^52"
    )]
    fn tokens(&self, part: f64) -> u64 {
        (self.max_tokens as f64 * part).ceil() as u64
    }
}
