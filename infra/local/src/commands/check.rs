//! `pudu config check`: what is wrong with a file, and what will not work although it is not wrong. Needs no Pudu.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use pudu_app::deadline::Deadline;
use pudu_config::{Document, Examined, Problem, Secrets, advise, parse_text, repeated_keys};
use pudu_domain::Timestamp;
use pudu_lambda::env::Process;
use pudu_lambda::settings::{Numbers, SettingError};
use serde_json::Value;

use crate::house::{LEASE, limits};
use crate::operator::MAX_CONFIG;
use crate::say;
use crate::secrets::EnvSecrets;

/// Prints everything that is to be said about `file`; an error if it is not valid.
pub fn check(file: &Path) -> anyhow::Result<()> {
    let checked = judge(read(file)?, &EnvSecrets, lease()?);
    for line in &checked.lines {
        say::answer(line)?;
    }
    match &checked.document {
        Some(document) => say::answer(&format!(
            "{} is valid: {}, {}",
            file.display(),
            counted(document.servers().len(), "server"),
            counted(checked.warnings, "warning")
        ))
        .context("the answer cannot be written"),
        None => bail!("{} is not valid: {}", file.display(), counted(checked.problems, "problem")),
    }
}

/// What was found in a config.
#[derive(Debug)]
pub(super) struct Checked {
    /// One line for each finding, problems first.
    pub(super) lines: Vec<String>,
    /// How many problems.
    pub(super) problems: usize,
    /// How many warnings.
    pub(super) warnings: usize,
    /// The config, if it is valid.
    pub(super) document: Option<Document>,
}

/// What a file says.
pub(super) struct Text {
    /// Its JSON, or the one problem of a file that has none.
    pub(super) raw: Result<Value, Problem>,
    /// What its JSON no longer tells.
    pub(super) warnings: Vec<Problem>,
}

/// Reads `file`, unless it is larger than a config can be.
pub(super) fn read(file: &Path) -> anyhow::Result<Text> {
    let mut bytes = Vec::new();
    // Not by its length, which pipes and devices do not have.
    let read = File::open(file).and_then(|open| open.take(MAX_CONFIG as u64 + 1).read_to_end(&mut bytes));
    read.with_context(|| format!("{} cannot be read", file.display()))?;
    if bytes.len() > MAX_CONFIG {
        bail!("{} is larger than {} MiB, which no config may be", file.display(), MAX_CONFIG >> 20);
    }
    Ok(Text { raw: parse_text(&bytes), warnings: repeated_keys(&bytes) })
}

/// Judges a config by its own words, by what `secrets` has, and by how long a claim is held.
pub(super) fn judge(text: Text, secrets: &dyn Secrets, lease: Duration) -> Checked {
    let examined = match text.raw {
        Ok(raw) => Document::examine(raw),
        Err(problem) => Examined { document: Err(vec![problem]), warnings: Vec::new() },
    };
    let (document, problems) = match examined.document {
        Ok(document) => (Some(document), Vec::new()),
        Err(problems) => (None, problems),
    };
    let mut warnings = text.warnings;
    warnings.extend(examined.warnings);
    if let Some(document) = &document {
        warnings.extend(advise(document, secrets, longest_call(lease)));
    }
    let mut lines: Vec<String> = problems.iter().map(|problem| format!("problem: {problem}")).collect();
    lines.extend(warnings.iter().map(|warning| format!("warning: {warning}")));
    Checked { lines, problems: problems.len(), warnings: warnings.len(), document }
}

pub(super) fn counted(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// How long a claim is held on this machine.
pub(super) fn lease() -> Result<Duration, SettingError> {
    Ok(Numbers::read(&Process, &limits(LEASE))?.limits.lease)
}

/// How long a call in the background may take, with nothing but its lease to end it.
fn longest_call(lease: Duration) -> Duration {
    let never = Deadline::at(Timestamp::from_millis(u64::MAX));
    let limit = never.call_limit(Timestamp::from_millis(0), Duration::MAX, lease);
    limit.map_or(lease, |limit| limit.time)
}

#[cfg(test)]
mod tests;
