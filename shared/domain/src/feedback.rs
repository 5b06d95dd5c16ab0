//! What a user thinks of a run (agent reference 2.2): one of each run, since a thread is one user's.

use crate::run::RunKey;
use crate::time::Timestamp;

/// Most bytes of a comment, which stands in one row.
pub const COMMENT_BYTES: usize = 8 * 1024;

/// Whether it was any good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rating {
    /// It was.
    Good,
    /// It was not.
    Bad,
}

/// The feedback on a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// On which run.
    pub run: RunKey,
    /// Whether it was any good.
    pub rating: Rating,
    /// In words, at most [`COMMENT_BYTES`].
    pub comment: Option<String>,
    /// On which of its messages, if on one.
    pub message: Option<String>,
    /// When it was given, or given anew.
    pub at: Timestamp,
}

impl Rating {
    /// The number that callers know: 1 or -1; none for another.
    pub const fn of(number: i64) -> Option<Self> {
        match number {
            1 => Some(Self::Good),
            -1 => Some(Self::Bad),
            _ => None,
        }
    }

    /// That number.
    pub const fn number(self) -> i64 {
        match self {
            Self::Good => 1,
            Self::Bad => -1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rating_is_one_of_two_numbers() {
        for rating in [Rating::Good, Rating::Bad] {
            assert_eq!(Rating::of(rating.number()), Some(rating));
        }
        for other in [0, 2, -2, 5, i64::MAX] {
            assert_eq!(Rating::of(other), None, "{other}");
        }
    }
}
