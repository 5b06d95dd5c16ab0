//! How many entries of a list a request asks for: 1 to 100, and 50 where it does not say.

use crate::error::Failure;

/// What a limit that is none is told.
const RULE: &str = "limit must be a number from 1 to 100";
const MOST: usize = 100;

/// Where the request does not say.
pub(crate) const fn usual() -> usize {
    50
}

/// The limit, checked.
pub(crate) fn checked(limit: usize) -> Result<usize, Failure> {
    if (1..=MOST).contains(&limit) { Ok(limit) } else { Err(Failure::unprocessable(RULE)) }
}

/// The limit that a text says.
pub(crate) fn read(text: &str) -> Result<usize, Failure> {
    text.parse().map_err(|_| Failure::unprocessable(RULE)).and_then(checked)
}
