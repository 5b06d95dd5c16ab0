//! The options before a launcher's package: only what is listed is taken, in the one spelling that is listed. The launchers
//! take many more (abbreviations, clusters, any number of dashes, other case); none of these is needed.

use super::source::{Ecosystem, is_package};
use super::{Refusal, Why, Word};

/// What a launcher takes.
pub(super) struct Grammar {
    pub(super) ecosystem: Ecosystem,
    /// Options without a value.
    pub(super) switches: &'static [&'static str],
    /// Options with one, and what it must be.
    pub(super) values: &'static [(&'static str, Kind)],
}

/// What the value of an option must be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The package that has the command.
    Source,
    /// Packages beside it, separated by commas.
    Beside,
    /// A version of Python, never a path.
    Python,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Letters, digits and `.:-`: a package's bare name, a date, a platform.
    Plain,
}

/// The part before the server's own arguments.
pub(super) struct Region<'a> {
    /// Where the package or command is expected; may be the end.
    pub(super) program_at: usize,
    /// The packages that were named apart.
    pub(super) sources: Vec<&'a str>,
}

impl Grammar {
    pub(super) fn region<'a>(&self, command: &str, words: &[Word<'a>]) -> Result<Region<'a>, Refusal> {
        let mut sources = Vec::new();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let Word::Text(text) = *word else {
                return Err(Refusal::arg(at, Why::Variable { command: command.to_owned() }));
            };
            if text == "--" {
                at += 1;
                break;
            }
            if !text.starts_with('-') {
                break;
            }
            let (flag, inline) =
                text.split_once('=').map_or((text, None), |(flag, value)| (flag, Some(value)));
            if inline.is_none() && self.switches.contains(&flag) {
                at += 1;
                continue;
            }
            let kind = self.values.iter().find(|(name, _)| *name == flag).map(|(_, kind)| *kind);
            let Some(kind) = kind else {
                return Err(Refusal::arg(at, Why::Option { command: command.to_owned(), flag: shown(flag) }));
            };
            let next = at + usize::from(inline.is_none());
            let value = match inline.map(Word::Text).or_else(|| words.get(next).copied()) {
                Some(Word::Text(value)) => value,
                Some(Word::Variable) => {
                    return Err(Refusal::arg(next, Why::Variable { command: command.to_owned() }));
                }
                None => "",
            };
            if let Some(must) = self.flaw(kind, value, !sources.is_empty()) {
                let why = Why::Value { command: command.to_owned(), flag: flag.to_owned(), must };
                return Err(Refusal::arg(next, why));
            }
            if kind == Kind::Source {
                sources.push(value);
            }
            at = next + 1;
        }
        Ok(Region { program_at: at, sources })
    }

    fn flaw(&self, kind: Kind, value: &str, has_source: bool) -> Option<&'static str> {
        match kind {
            // npx takes several, uvx refuses a second one itself.
            Kind::Source if has_source && self.ecosystem == Ecosystem::PyPi => Some("may be given once"),
            Kind::Source => (!is_package(self.ecosystem, value)).then_some(self.ecosystem.must()),
            Kind::Beside => value
                .split(',')
                .any(|one| !is_package(self.ecosystem, one.trim()))
                .then_some(self.ecosystem.must()),
            Kind::Python => {
                (!is_python_version(value)).then_some("must be a version such as 3.12, not a program")
            }
            Kind::OneOf(words) => (!words.contains(&value)).then_some("is not one that it knows"),
            Kind::Plain => {
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
                let fits = value.starts_with(|first: char| first.is_ascii_alphanumeric())
                    && value.bytes().all(plain);
                (!fits).then_some("must be a plain word")
            }
        }
    }
}

/// An option as it may be shown: of a short one only its letter, because its value may be attached to it.
pub(super) fn shown(flag: &str) -> String {
    if flag.starts_with("--") { flag.to_owned() } else { flag.chars().take(2).collect() }
}

/// `3`, `3.12`, `python3.12`, `cpython@3.12`, `pypy`, `>=3.10,<3.13`: what is no version is looked for in PATH and run.
fn is_python_version(text: &str) -> bool {
    let number = |text: &str| {
        let digits = text.strip_suffix('t').unwrap_or(text);
        !digits.is_empty()
            && digits.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    };
    let range = |text: &str| {
        text.split(',').all(|part| {
            let version = part.trim().trim_start_matches(['<', '>', '=', '~', '!']);
            version.len() < part.trim().len() && number(version.trim().trim_end_matches(".*"))
        })
    };
    let named = ["cpython", "pypy", "python"].iter().find_map(|name| text.strip_prefix(name));
    match named {
        Some(version) => version.is_empty() || number(version.strip_prefix('@').unwrap_or(version)),
        None => number(text) || range(text),
    }
}
