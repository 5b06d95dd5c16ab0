//! One child process and everything below it.
//!
//! It leads a process group of its own, which ends with it: politely in [`Process::shut_down`], by KILL when this value is
//! dropped. The child is reaped last, because as long as it is not its number cannot be given to another group.

mod obituary;
mod outlet;
mod pumps;

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use pudu_app::ports::CallFault;
use rustix::process::{Pid, Signal, kill_process_group};
use secrecy::ExposeSecret;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::host::{Body, Host};
use super::recipe::Recipe;
use super::shown::Shown;
use crate::pipe::{Inlet, Pipe};
use crate::wire::Failure;
use obituary::{Death, exited};
use outlet::Stdin;

/// How long each step of an end may take: closing stdin, TERM, and what is left of the group after its leader (reference
/// 2.2).
const GRACE: Duration = Duration::from_secs(2);

/// Starts processes of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Machine;

/// A running child.
struct Process {
    // Dropped in this order: the group is killed while its leader still has its number.
    group: Group,
    child: Child,
    stdin: Arc<Stdin>,
    pumps: JoinSet<()>,
}

/// A process group that is killed when dropped.
struct Group(Option<Pid>);

impl Host for Machine {
    fn start(&self, recipe: &Recipe, shown: Shown) -> Result<(Pipe, Box<dyn Body>), Failure> {
        let mut child = command(recipe)?.spawn().map_err(|error| unstarted(recipe, &error))?;
        let pid = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let group = Group(pid);
        let (Some(pid), Some(stdin), Some(stdout), Some(stderr)) =
            (pid, child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Failure::new(CallFault::NotSent, "its process started without its pipes"));
        };
        let death = Death::new(pid, shown);
        let (to, messages) = mpsc::channel(1);
        let mut pumps = JoinSet::new();
        pumps.spawn(pumps::errors(stderr, recipe.server.clone(), death.clone()));
        let stdin = Arc::new(Stdin::new(stdin, death.clone()));
        pumps.spawn(pumps::messages(stdout, to, recipe.redactor.clone(), death));
        let inlet: Inlet =
            stream::unfold(messages, |mut messages| async { Some((messages.recv().await?, messages)) })
                .boxed();
        let pipe = Pipe::new(recipe.peer(), inlet, Arc::clone(&stdin) as _);
        Ok((pipe, Box::new(Process { group, child, stdin, pumps })))
    }
}

fn command(recipe: &Recipe) -> Result<Command, Failure> {
    let mut command = Command::new(recipe.command.expose_secret());
    command
        .args(recipe.args.iter().map(ExposeSecret::expose_secret))
        .env_clear()
        .envs(recipe.env.iter().map(|(name, value)| (name, value.expose_secret())))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(cwd) = &recipe.cwd {
        // Looked at first: a missing folder and a missing command are one error to the system.
        if !cwd.is_dir() {
            return Err(Failure::new(CallFault::Config, "'cwd' is not a folder of this machine"));
        }
        command.current_dir(cwd);
    }
    Ok(command)
}

fn unstarted(recipe: &Recipe, error: &std::io::Error) -> Failure {
    let kind = error.kind();
    let (fault, advice) = match kind {
        std::io::ErrorKind::NotFound => (CallFault::Config, "install it, or give its full path in 'command'"),
        std::io::ErrorKind::PermissionDenied => (CallFault::Config, "check that it may be executed"),
        _ => (CallFault::NotSent, "check the limits of this machine"),
    };
    Failure::new(fault, recipe.redactor.text(&format!("its command cannot be started ({kind}); {advice}")))
}

#[async_trait]
impl Body for Process {
    async fn end(mut self: Box<Self>) {
        self.shut_down().await;
    }
}

impl Process {
    async fn shut_down(&mut self) {
        let Some(pid) = self.group.0 else { return };
        self.stdin.shut().await;
        let left = timeout(GRACE, exited(pid)).await.is_ok();
        // Also after an end of its own will: what it started and did not end has nobody left to talk to.
        self.group.signal(Signal::TERM);
        if !left {
            let _ = timeout(GRACE, exited(pid)).await;
        }
        // Both streams end when nobody holds them any more, so this waits for the rest of the group only if there is one.
        let _ = timeout(GRACE, async { while self.pumps.join_next().await.is_some() {} }).await;
        self.group.signal(Signal::KILL);
        if let Err(error) = self.child.wait().await {
            tracing::debug!(%error, "a stdio server could not be reaped");
        }
        self.group.0 = None;
    }
}

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.0
            && let Err(error) = kill_process_group(pid, signal)
        {
            tracing::debug!(%error, "a process group could not be signalled");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
