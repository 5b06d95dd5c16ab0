//! What to start: a stdio entry with its variables resolved and its environment complete.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use pudu_app::chain::Chain;
use pudu_app::changes::ListChanges;
use pudu_app::ports::{CallError, CallFault};
use pudu_config::{ConnectError, Secrets, Server, Setting, Transport, argument_secrets};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::Url;

use super::Launcher;
use super::folders::Folders;
use crate::pipe::Peer;
use crate::redact::Redactor;

/// The variables by which programs find a place for temporary files.
const TEMPORARY: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];

/// What makes npm leave the config of its working folder alone: an `.npmrc` there names a shell or a module that `npx` runs before
/// the package, and a thread's folder holds what its callers put there (measured: `tests/launch`).
const NO_FOLDER_CONFIG: (&str, &str) = ("npm_config_location", "global");

/// What keeps `npx NAME` from a program of this machine: it runs one of that name in its global folder before it looks for a package
/// (measured: `npx prlimit`). There is no such folder, and nobody can make one.
const NO_GLOBAL_PROGRAMS: (&str, &str) = ("npm_config_prefix", "/proc/none");

/// A process in the making. It holds secrets, so it is never printed.
#[derive(Clone)]
pub(crate) struct Recipe {
    pub(crate) server: String,
    digest: String,
    pub(crate) redactor: Redactor,
    changes: ListChanges,
    pub(super) command: SecretString,
    pub(super) args: Vec<SecretString>,
    /// All of it: nothing else is inherited.
    pub(super) env: BTreeMap<String, SecretString>,
    pub(super) cwd: Option<PathBuf>,
    /// Longest that starting and initialising takes.
    pub(super) init: Duration,
}

impl Recipe {
    /// Resolves the entry. Errors are all [`CallFault::Config`] and name fields, never values.
    pub(super) fn of(
        server: &Server,
        secrets: &dyn Secrets,
        launcher: &Launcher,
        changes: &ListChanges,
    ) -> Result<Self, CallError> {
        // Each link of this chain names fields and never values.
        let refuse = |error: ConnectError| refused(server, &Chain(&error).to_string());
        let Transport::Stdio(entry) = &server.transport else {
            return Err(refuse(ConnectError::Unsupported { transport: server.transport.name().to_owned() }));
        };
        let value = |field: String, setting: &Setting| {
            let found = setting.resolve(secrets);
            found.map_err(|source| refuse(ConnectError::Setting { field, source }))
        };
        let command = entry.command.as_ref().ok_or_else(|| refuse(ConnectError::MissingCommand))?;
        let command = value("command".to_owned(), command)?;
        let mut args = Vec::with_capacity(entry.args.len());
        for (index, setting) in entry.args.iter().enumerate() {
            args.push(value(format!("args[{index}]"), setting)?);
        }
        let mut env = launcher.inherited.clone();
        for (name, setting) in &entry.env {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(refused(server, "a name in 'env' is no name of a variable"));
            }
            env.insert(name.clone(), value(format!("env.{name}"), setting)?);
        }
        if args.iter().chain(env.values()).chain([&command]).any(|text| text.expose_secret().contains('\0')) {
            return Err(refused(server, "'command', 'args' or 'env' holds a zero byte"));
        }
        let cwd = entry.cwd.as_ref().map(|cwd| value("cwd".to_owned(), cwd)).transpose()?;
        Ok(Self {
            server: server.name.clone(),
            digest: server.digest.clone(),
            changes: changes.clone(),
            redactor: Redactor::default().and(&hidden(server, secrets)),
            command,
            args,
            env,
            cwd: cwd.map(|cwd| PathBuf::from(cwd.expose_secret())),
            init: server.init_timeout(),
        })
    }

    /// The same, at home in a thread's folders: what the operator set stays (reference 2.8).
    #[must_use]
    pub(super) fn pinned(mut self, folders: &Folders) -> Self {
        if self.cwd.is_none() {
            self.cwd = Some(folders.workspace.clone());
            self.set(NO_FOLDER_CONFIG);
        }
        self.set(NO_GLOBAL_PROGRAMS);
        if let Some(temporary) = folders.temporary.as_ref().and_then(|path| path.to_str()) {
            for name in TEMPORARY {
                self.env.entry(name.to_owned()).or_insert_with(|| SecretString::from(temporary));
            }
        }
        self
    }

    /// Sets a variable that the entry does not set. Also for a command that does not read it: it may start one that does.
    fn set(&mut self, (name, value): (&str, &str)) {
        if !self.env.keys().any(|given| given.eq_ignore_ascii_case(name)) {
            self.env.insert(name.to_owned(), SecretString::from(value));
        }
    }

    /// The same, with more that no text may show.
    #[must_use]
    pub(crate) fn knowing(mut self, secrets: &[SecretString]) -> Self {
        self.redactor = self.redactor.and(secrets);
        self
    }

    /// Who will be at the other end.
    pub(super) fn peer(&self) -> Peer {
        Peer {
            server: self.server.clone(),
            digest: self.digest.clone(),
            redactor: self.redactor.clone(),
            changes: self.changes.clone(),
        }
    }

    /// What tells one way of starting it from another, for this process alone: it is made from secrets.
    pub(super) fn mark(&self) -> String {
        let args: Vec<_> = self.args.iter().map(ExposeSecret::expose_secret).collect();
        let env: BTreeMap<_, _> =
            self.env.iter().map(|(name, value)| (name, value.expose_secret())).collect();
        let cwd = self.cwd.as_ref().map(|cwd| cwd.to_string_lossy());
        pudu_config::sha256_hex(&json!([self.digest, self.command.expose_secret(), args, env, cwd]))
    }

    /// The one way in which a failure of a stdio server leaves this crate.
    pub(crate) fn error(&self, failure: &crate::wire::Failure) -> CallError {
        CallError {
            server: self.server.clone(),
            fault: failure.fault,
            message: self.redactor.text(&failure.message),
        }
    }
}

impl fmt::Debug for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recipe").field("server", &self.server).finish_non_exhaustive()
    }
}

/// What must not be shown of a stdio entry: the values of its environment, as far as they have one, and of the arguments
/// those that are variables, what the config hides of the others, and passwords of URLs. Any other literal argument is mostly a
/// word that texts need.
pub(crate) fn hidden(server: &Server, secrets: &dyn Secrets) -> Vec<SecretString> {
    let Transport::Stdio(entry) = &server.transport else { return Vec::new() };
    let mut found: Vec<_> = entry.env.iter().filter_map(|(_, value)| value.resolve(secrets).ok()).collect();
    let args: Vec<_> = entry
        .args
        .iter()
        .filter_map(|arg| Some((arg.reference().is_some(), arg.resolve(secrets).ok()?)))
        .collect();
    let texts = args.iter().map(|(_, value)| value.expose_secret());
    found.extend(argument_secrets(texts).into_iter().map(SecretString::from));
    for (is_variable, value) in args {
        let text = value.expose_secret();
        found.extend(password(text).or_else(|| password(text.split_once('=')?.1)));
        if is_variable {
            found.push(value);
        }
    }
    found
}

/// The password of a URL, as it is written; of one without, what stands in its place, as a token does.
fn password(text: &str) -> Option<SecretString> {
    let url = Url::parse(text).ok()?;
    let secret = url.password().unwrap_or_else(|| url.username());
    (!secret.is_empty()).then(|| SecretString::from(secret))
}

fn refused(server: &Server, message: &str) -> CallError {
    CallError {
        server: server.name.clone(),
        fault: CallFault::Config,
        message: Redactor::default().text(message),
    }
}
