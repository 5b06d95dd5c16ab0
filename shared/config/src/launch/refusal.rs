//! Why a line is not started. Names options, commands and variables, never a value.

/// A refusal and the place that is to blame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refusal {
    /// Where in the entry.
    pub place: Place,
    /// The rule.
    pub why: Why,
}

/// A place in a stdio entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// `command`.
    Command,
    /// `args` at this index; the number of arguments when something is missing at the end.
    Arg(usize),
    /// `env`, by name.
    Env(String),
    /// `env` as a whole.
    Environment,
}

/// The rules of the policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// None, or a blank one.
    #[error("a stdio server requires a command")]
    NoCommand,
    /// A path, a line for a shell, a name with spaces.
    #[error(
        "the command must be a single executable name, without spaces, slashes and shell characters; arguments belong in 'args'"
    )]
    NotOneName,
    /// Not on the allowlist.
    #[error(
        "the command '{command}' is not one of {allowed}; the operator can add it to {}, or name the server in the config file",
        super::SETTING
    )]
    NotAllowed {
        /// The command.
        command: String,
        /// The allowlist.
        allowed: String,
    },
    /// An option that is code, or leads to some.
    #[error(
        "'{flag}' would run arbitrary code in '{command}'; name a package, module or file to run instead"
    )]
    RunsCode {
        /// The command.
        command: String,
        /// The option without its value.
        flag: String,
    },
    /// An option of a launcher that is not on its list.
    #[error(
        "'{flag}' is not an option that the API takes before the package of '{command}': some options would run arbitrary code; options of the server follow the package"
    )]
    Option {
        /// The command.
        command: String,
        /// The option without its value.
        flag: String,
    },
    /// An option whose value is not of the kind that is taken.
    #[error("the value of '{flag}' of '{command}' {must}")]
    Value {
        /// The command.
        command: String,
        /// The option.
        flag: String,
        /// What it must be.
        must: &'static str,
    },
    /// A launcher with nothing to launch: it would start a shell on what callers send.
    #[error("'{command}' needs a package to run; without one it would run arbitrary code")]
    NoPackage {
        /// The command.
        command: String,
    },
    /// Not the name of a package.
    #[error("the package of '{command}' {must}")]
    Package {
        /// The command.
        command: String,
        /// What it must be.
        must: &'static str,
    },
    /// What runs is a shell or runs what its arguments say.
    #[error(
        "'{program}' would run arbitrary code from its arguments; name the server's own package and command"
    )]
    Program {
        /// The program.
        program: String,
    },
    /// A command with arguments beside a package that has nothing to do with it: it may be any program of the machine.
    #[error(
        "the command '{program}' has no word of its package's name and no 'mcp' in it; with arguments it may be any program of this machine and run arbitrary code"
    )]
    Unrelated {
        /// The program.
        program: String,
    },
    /// A program that reads its program from what callers send.
    #[error("'{command}' without a file or module would run arbitrary code from its input")]
    Input {
        /// The program.
        command: String,
    },
    /// A variable where the policy must see what stands there.
    #[error("a variable cannot stand here: what '{command}' runs must be readable in the config")]
    Variable {
        /// The command.
        command: String,
    },
    /// What is no name of a variable. It is not shown: it may hold a value.
    #[error("the name of an environment variable must be of letters, digits and _ . - ( )")]
    NoName,
    /// A variable by which a program runs code when it starts, or a launcher is told what to run.
    #[error("the environment variable '{name}' can make the process run arbitrary code when it starts")]
    Environment {
        /// The variable, as it was given.
        name: String,
    },
}

impl Refusal {
    pub(super) fn arg(at: usize, why: Why) -> Self {
        Self { place: Place::Arg(at), why }
    }
}
