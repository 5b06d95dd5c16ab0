//! How many entries of a list a request asks for: 1 to what the list allows, mostly 100, and 50 where it does not say.

use crate::error::Failure;

const MOST: usize = 100;

/// Where the request does not say.
pub(crate) const fn usual() -> usize {
    50
}

/// The limit, checked.
pub(crate) fn checked(limit: usize) -> Result<usize, Failure> {
    within(limit, MOST)
}

/// The limit of a list that allows `most`, checked.
pub(crate) fn within(limit: usize, most: usize) -> Result<usize, Failure> {
    if (1..=most).contains(&limit) { Ok(limit) } else { Err(refused(most)) }
}

/// The limit that a text says.
pub(crate) fn read(text: &str) -> Result<usize, Failure> {
    text.parse().map_err(|_| refused(MOST)).and_then(checked)
}

/// What a limit that is none is told.
fn refused(most: usize) -> Failure {
    Failure::unprocessable(format!("limit must be a number from 1 to {most}"))
}
