//! Servers that run as child processes of this one (reference 2.1 to 2.10).
//!
//! A composition that can have them gives the client a [`Launcher`]; without one a stdio server is refused with the reason.
//! Discovery starts a process of its own and ends it; calls share a session per server and thread ([`pool`]), at home in
//! the thread's folders ([`folders`]). A process inherits six harmless variables and nothing else, and dies with all that
//! it started ([`process`]).

mod folders;
mod host;
mod lines;
mod pool;
mod process;
mod recipe;
mod shown;
mod together;
mod workspace;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pudu_app::changes::ListChanges;
use pudu_app::ports::{CallError, CallFault};
use pudu_config::{Secrets, Server};
use pudu_domain::ThreadKey;
use secrecy::SecretString;
use serde_json::Value;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

pub(crate) use recipe::{Recipe, hidden};

use crate::pipe::Ask;
use crate::session::Session;
use crate::wire::Failure;
use folders::{Folders, Unprepared};
use pool::{CAPACITY, IDLE, Key, Pool};
use process::Machine;
use shown::Shown;
use together::Together;
use workspace::{Files, MAX_ENTRIES, walk};

/// What a process inherits from this one; everything else it has is configured (reference 2.2).
pub const INHERITED: [&str; 6] = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// What makes stdio servers possible in a composition.
#[derive(Clone)]
pub struct Launcher {
    base: PathBuf,
    inherited: BTreeMap<String, SecretString>,
    one_process: bool,
}

/// The stdio servers of one client.
pub(crate) struct Stdio {
    launcher: Launcher,
    pool: Pool,
    together: Together,
}

/// One call of a tool.
pub(crate) struct Errand<'a> {
    pub(crate) thread: &'a ThreadKey,
    /// A folder that cannot be prepared is an error (reference 2.8: the durable path).
    pub(crate) strict: bool,
    pub(crate) ask: Ask,
    /// When it is over, with everything before it.
    pub(crate) until: Instant,
    /// How long the call itself may take.
    pub(crate) limit: Duration,
}

impl Launcher {
    /// Servers whose threads have their folders below `base`. Of `environment` only [`INHERITED`] is read, now. With
    /// `one_process` the gateway and the poller are one process, so that a task is polled in the session that began it.
    pub fn new(
        base: impl Into<PathBuf>,
        environment: impl Fn(&str) -> Option<String>,
        one_process: bool,
    ) -> Self {
        let inherited = INHERITED.iter().filter_map(|name| {
            // Such a value is a function of an old shell: code.
            let value = environment(name).filter(|value| !value.starts_with("()"))?;
            Some(((*name).to_owned(), SecretString::from(value)))
        });
        Self { base: base.into(), inherited: inherited.collect(), one_process }
    }

    /// Whether a durable task can run on a stdio server here.
    pub(crate) const fn is_one_process(&self) -> bool {
        self.one_process
    }
}

impl Stdio {
    pub(crate) fn new(launcher: Launcher) -> Self {
        let pool = Pool::new(Arc::new(Machine), CAPACITY, IDLE);
        Self { launcher, pool, together: Together::default() }
    }

    pub(crate) const fn launcher(&self) -> &Launcher {
        &self.launcher
    }

    /// What to start for `server`.
    pub(crate) fn recipe(
        &self,
        server: &Server,
        secrets: &dyn Secrets,
        changes: &ListChanges,
    ) -> Result<Recipe, CallError> {
        Recipe::of(server, secrets, &self.launcher, changes)
    }

    /// Runs `job` in a session of its own, which ends with it. The process has our folder, or the operator's, and no
    /// folder of a thread.
    pub(crate) async fn apart<T>(
        &self,
        recipe: &Recipe,
        until: Instant,
        job: impl for<'s> FnOnce(&'s mut Session, &'s Recipe) -> BoxFuture<'s, Result<T, Failure>> + Send,
    ) -> Result<T, Failure> {
        let limit = until.duration_since(Instant::now());
        let shown = Shown::new(recipe.redactor.clone());
        let (pipe, body) = self.pool.host().start(recipe, shown)?;
        let sent = Arc::new(AtomicBool::new(false));
        let work = async {
            let mut session = Session::over(pipe, Arc::clone(&sent)).await?;
            job(&mut session, recipe).await
        };
        let answer = timeout_at(until, work).await.unwrap_or_else(|_| Err(Failure::timeout(limit)));
        let answer =
            if sent.load(Ordering::Acquire) { answer } else { answer.map_err(Failure::before_sending) };
        // Behind the answer: a process that is slow to end must not cost it.
        self.pool.bury(body);
        answer
    }

    /// Calls a tool in the thread's session.
    pub(crate) async fn call(&self, recipe: Recipe, errand: Errand<'_>) -> Result<Value, Failure> {
        let Errand { thread, strict, ask, until, limit } = errand;
        let whole = until.duration_since(Instant::now());
        let in_time = async {
            let folders = self.folders(thread, strict).await?;
            let recipe = recipe.pinned(&folders);
            let cwd = recipe.cwd.clone().unwrap_or_else(|| folders.workspace.clone());
            let key = Key { server: recipe.server.clone(), thread: thread.clone() };
            let mut lease = self.pool.acquire(key, recipe)?;
            lease.opened().await?;
            Ok((lease, folders, cwd))
        };
        let ready = timeout_at(until, in_time).await.unwrap_or_else(|_| Err(Failure::timeout(whole)));
        let (lease, folders, cwd) = ready.map_err(Failure::before_sending)?;

        let turn = self.together.begin(thread);
        let before = if turn.is_alone() { self.look(&folders).await } else { None };
        let left = until.duration_since(Instant::now()).min(limit);
        let result = lease.ask(ask, Instant::now() + left, left).await?;
        // Files of another call of the thread would be taken for those of this one.
        let before = before.filter(|_| turn.is_alone());
        drop(turn);
        let files = Files { folders, cwd, before };
        spawn_blocking(move || files.translate(result)).await.map_err(|_| {
            Failure::new(CallFault::Broken, "the process is being shut down; the answer was not read")
        })
    }

    /// Closes the sessions of a thread.
    pub(crate) async fn close_thread(&self, thread: &ThreadKey) {
        self.pool.close(|key| key.thread == *thread).await;
    }

    /// Lets go of the sessions with other servers than these.
    pub(crate) fn keep_servers(&self, names: &BTreeSet<&str>) {
        self.pool.keep_only(|key| names.contains(key.server.as_str()));
    }

    /// Closes all sessions.
    pub(crate) async fn close_all(&self) {
        self.pool.close(|_| true).await;
    }

    async fn folders(&self, thread: &ThreadKey, strict: bool) -> Result<Folders, Failure> {
        let (base, thread) = (self.launcher.base.clone(), thread.clone());
        let prepared = spawn_blocking(move || Folders::prepare(&base, &thread, strict)).await;
        let unsent = |message: String| Failure::new(CallFault::NotSent, message);
        prepared
            .map_err(|_| unsent("the process is being shut down".to_owned()))?
            .map_err(|error: Unprepared| unsent(error.to_string()))
    }

    async fn look(&self, folders: &Folders) -> Option<workspace::Seen> {
        let workspace = folders.workspace.clone();
        spawn_blocking(move || walk(&workspace, MAX_ENTRIES)).await.ok().flatten()
    }
}

#[cfg(test)]
mod tests;
