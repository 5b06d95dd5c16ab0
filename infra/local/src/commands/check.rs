//! `pudu config check`: what is wrong with a file, and what will not work although it is not wrong. Needs no Pudu.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use pudu_app::deadline::Deadline;
use pudu_config::{Document, Examined, Problem, Secrets, advise, parse_text};
use pudu_domain::Timestamp;
use serde_json::Value;

use crate::house::LEASE;
use crate::say;
use crate::secrets::EnvSecrets;

/// Prints everything that is to be said about `file`; an error if it is not valid.
pub fn check(file: &Path) -> anyhow::Result<()> {
    let checked = judge(read(file)?, &EnvSecrets);
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

/// The JSON of `file`, or the one problem of a file that has none.
pub(super) fn read(file: &Path) -> anyhow::Result<Result<Value, Problem>> {
    let bytes = fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
    Ok(parse_text(&bytes))
}

/// Judges a config by its own words and by what `secrets` has.
pub(super) fn judge(raw: Result<Value, Problem>, secrets: &dyn Secrets) -> Checked {
    let examined = match raw {
        Ok(raw) => Document::examine(raw),
        Err(problem) => Examined { document: Err(vec![problem]), warnings: Vec::new() },
    };
    let (document, problems) = match examined.document {
        Ok(document) => (Some(document), Vec::new()),
        Err(problems) => (None, problems),
    };
    let mut warnings = examined.warnings;
    if let Some(document) = &document {
        warnings.extend(advise(document, secrets, longest_call()));
    }
    let mut lines: Vec<String> = problems.iter().map(|problem| format!("problem: {problem}")).collect();
    lines.extend(warnings.iter().map(|warning| format!("warning: {warning}")));
    Checked { lines, problems: problems.len(), warnings: warnings.len(), document }
}

pub(super) fn counted(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// How long a call in the background may take on one machine, with nothing but its lease to end it.
fn longest_call() -> Duration {
    let never = Deadline::at(Timestamp::from_millis(u64::MAX));
    let limit = never.call_limit(Timestamp::from_millis(0), Duration::MAX, LEASE);
    limit.map_or(LEASE, |limit| limit.time)
}

#[cfg(test)]
mod tests;
