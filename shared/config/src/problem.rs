//! What is wrong with a config, and where. A problem never contains a configured value, only names and rules.

use std::fmt;

use crate::path::Path;

const MAX_TEXT: usize = 300;
const MAX_PROBLEMS: usize = 100;

/// One finding about a config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The JSON path, such as `mcpServers.web.task_toolsets[0].name`; empty for the document itself.
    pub path: String,
    /// What is wrong and what is allowed. Never a configured value.
    pub message: String,
    /// Which rule was broken; the caller chooses the status by it.
    pub kind: Kind,
}

/// The sort of a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A JSON type is wrong or a field is missing or unknown (422 at the API, reference 8.1).
    Shape,
    /// The shape is right and a rule is broken (400).
    Rule,
    /// A `***` that stands for no stored value (400).
    Mask,
    /// Valid, but not accepted through the API (400).
    Policy,
    /// Not an error: what was given is used in another way than written.
    Warning,
}

impl Problem {
    pub(crate) fn new(kind: Kind, path: &Path, message: impl Into<String>) -> Self {
        Self::at(kind, path.to_string(), message.into())
    }

    /// Both texts may contain names of any length from the config; they are cut to what a person reads.
    pub(crate) fn at(kind: Kind, path: String, message: String) -> Self {
        Self { path: bounded(path), message: bounded(message), kind }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

fn bounded(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_TEXT) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// At most 100, the last of which says how many more there were: a body of 1 MiB can be wrong in a hundred
/// thousand places, and the answer must stay small.
pub(crate) fn limited(mut problems: Vec<Problem>) -> Vec<Problem> {
    let more = problems.len().saturating_sub(MAX_PROBLEMS);
    if more > 0 {
        problems.truncate(MAX_PROBLEMS);
        problems.push(Problem::new(
            Kind::Rule,
            &Path::default(),
            format!("{more} more problems are not listed"),
        ));
    }
    problems
}

/// Where a reading collects what it finds.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
}

impl Findings {
    pub(crate) fn shape(&mut self, path: &Path, message: impl Into<String>) {
        self.problems.push(Problem::new(Kind::Shape, path, message));
    }

    pub(crate) fn rule(&mut self, path: &Path, message: impl Into<String>) {
        self.problems.push(Problem::new(Kind::Rule, path, message));
    }

    pub(crate) fn warn(&mut self, path: &Path, message: impl Into<String>) {
        self.warnings.push(Problem::new(Kind::Warning, path, message));
    }

    /// Makes warnings of all problems but the first `kept`.
    pub(crate) fn tolerate(&mut self, kept: usize) {
        let tolerated = self.problems.drain(kept.min(self.problems.len())..);
        self.warnings.extend(tolerated.map(|problem| {
            let message = format!("{}; it is not read", problem.message);
            Problem::at(Kind::Warning, problem.path, message)
        }));
    }
}
