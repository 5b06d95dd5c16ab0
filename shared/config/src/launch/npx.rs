//! `npx` of npm 10 and 11, which read the same line in the same way (measured). What else it takes is in reference 9.5.

use super::options::{Grammar, Kind};
use super::source::Ecosystem;
use super::{Refusal, Word, program};

const LOG_LEVELS: &[&str] = &["silent", "error", "warn", "notice", "http", "info", "verbose", "silly"];

/// Not here although harmless: `--no-…` but `--no-install`, for which npx takes the package for a value and reads on behind it.
/// `-C` and `--prefix` (reference vector 93) are out, because the `.npmrc` in that folder names a shell.
const NPX: Grammar = Grammar {
    ecosystem: Ecosystem::Npm,
    switches: &[
        "-y",
        "--yes",
        "-q",
        "--quiet",
        "-s",
        "--silent",
        "--verbose",
        "--offline",
        "--prefer-offline",
        "--prefer-online",
        "--no-install",
        "--ignore-scripts",
        "--legacy-peer-deps",
        "--color",
        "--parseable",
        "--always-spawn",
        "-P",
        "--save-prod",
    ],
    values: &[("-p", Kind::Source), ("--package", Kind::Source), ("--loglevel", Kind::OneOf(LOG_LEVELS))],
};

pub(super) fn judge(command: &str, words: &[Word<'_>]) -> Result<usize, Refusal> {
    let region = NPX.region(command, words)?;
    program::judge(command, Ecosystem::Npm, &region, words)?;
    Ok(region.program_at)
}
