//! The launch policy of stdio servers that come through the API (reference 9): may this command, with these arguments and
//! these names in its environment, be started? Pure: it looks at words, never at the machine.
//!
//! It is an allowlist: the options of `npx` and `uvx` that name a package or only change how it is fetched and shown, then a
//! package by its name; what follows belongs to the server. Everything that selects another source, interpreter, shell,
//! config file or cache is refused, because the real launchers were seen to run what stands there (`shared/config/corpus`).
//! It is a mitigation and no boundary: who may register a server may register one that they published themselves.

mod environment;
mod interpreter;
mod npx;
mod options;
mod program;
mod refusal;
mod source;
mod uvx;

use std::collections::BTreeSet;

pub use refusal::{Place, Refusal, Why};

use crate::setting::{Reading, read};

/// The setting that adds commands, for messages.
const SETTING: &str = "PUDU_STDIO_COMMAND_ALLOWLIST";
/// What may be started without being asked for.
const LAUNCHERS: [&str; 2] = ["npx", "uvx"];

/// Which commands may be started, and the rules for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchPolicy {
    /// In order, for messages.
    commands: BTreeSet<String>,
}

/// What an accepted line starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Approved {
    /// Where in the arguments the package (or, with `-p` or `--from`, its command) stands: everything after it is the server's.
    /// None for a command that is no launcher.
    pub program_at: Option<usize>,
}

/// An addition to the allowlist that could never be a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be executable names separated by commas, without spaces, slashes and shell characters")]
pub struct NotAName;

impl Default for LaunchPolicy {
    fn default() -> Self {
        Self { commands: LAUNCHERS.map(str::to_owned).into() }
    }
}

impl LaunchPolicy {
    /// `npx`, `uvx`, and what `more` adds, separated by commas (reference 9.1: it can only grow).
    pub fn parse(more: &str) -> Result<Self, NotAName> {
        let mut policy = Self::default();
        for name in more.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if !is_one_name(name) {
                return Err(NotAName);
            }
            policy.commands.insert(name.to_owned());
        }
        Ok(policy)
    }

    /// Whether the line may be started; all texts as they stand in the config, so that `$VAR` is a variable. The first
    /// violation is told: command, then arguments, then environment.
    pub fn judge(&self, command: Option<&str>, args: &[&str], env: &[&str]) -> Result<Approved, Refusal> {
        let command = self.command(command).map_err(|why| Refusal { place: Place::Command, why })?;
        let words: Vec<Word<'_>> = args.iter().copied().map(Word::read).collect();
        let program_at = match base(command).as_str() {
            "npx" => Some(npx::judge(command, &words)?),
            "uvx" => Some(uvx::judge(command, &words)?),
            _ => {
                interpreter::judge(command, &words, 0)?;
                None
            }
        };
        environment::judge(env)?;
        Ok(Approved { program_at })
    }

    /// Reference 9.1.
    fn command<'a>(&self, command: Option<&'a str>) -> Result<&'a str, Why> {
        let command = command.filter(|command| !command.trim().is_empty()).ok_or(Why::NoCommand)?;
        if !is_one_name(command) {
            return Err(Why::NotOneName);
        }
        if !self.commands.contains(command) {
            let allowed = self.commands.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(Why::NotAllowed { command: command.to_owned(), allowed });
        }
        Ok(command)
    }
}

/// One argument as it stands in the config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word<'a> {
    Text(&'a str),
    /// `$VAR`: what it will be is not known when the config is stored.
    Variable,
}

impl<'a> Word<'a> {
    fn read(raw: &'a str) -> Self {
        match read(raw) {
            Reading::Literal(text) => Self::Text(text),
            Reading::Reference(_) | Reading::Reserved => Self::Variable,
            Reading::Malformed => Self::Text(raw),
        }
    }
}

fn is_one_name(text: &str) -> bool {
    let shell = |character: char| {
        character.is_whitespace() || character.is_control() || "/\\;|&`$<>'\"(){}*?".contains(character)
    };
    !text.is_empty() && !text.starts_with('-') && !text.contains(shell)
}

/// The name of a program as its rules are looked up: without case and without the endings of another system.
fn base(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let ending = [".exe", ".cmd", ".bat", ".ps1"].iter().find_map(|ending| name.strip_suffix(ending));
    ending.map_or(name.clone(), str::to_owned)
}

/// Whether `name` is a word of `lists`.
fn listed(lists: &[&str], name: &str) -> bool {
    lists.iter().any(|list| list.split_ascii_whitespace().any(|one| one == name))
}

#[cfg(test)]
mod tests;
