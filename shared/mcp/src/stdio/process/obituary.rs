//! How a child ended, in words.

use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pudu_app::ports::CallFault;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitIdStatus, waitid};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::stdio::shown::Shown;
use crate::wire::Failure;

/// How long an end of the output waits for the end of the process, and for its last words.
const PATIENCE: Duration = Duration::from_millis(500);

/// What is said of a child that closed its stdin and goes on.
pub(super) const DEAF: &str = "its process takes no more input";

/// What is known about a child for the time when it has ended.
#[derive(Clone)]
pub(super) struct Death {
    pid: Pid,
    shown: Shown,
    /// The last line on stderr, redacted.
    last: Arc<Mutex<String>>,
    /// stderr has ended.
    silent: CancellationToken,
    /// It takes no more input.
    deaf: CancellationToken,
}

impl Death {
    pub(super) fn new(pid: Pid, shown: Shown) -> Self {
        Self {
            pid,
            shown,
            last: Arc::default(),
            silent: CancellationToken::new(),
            deaf: CancellationToken::new(),
        }
    }

    /// Notes a line of stderr, and returns it as it may be shown; `None` when there is nothing to show.
    pub(super) fn said(&self, line: &str) -> Option<String> {
        let line = self.shown.text(line).filter(|line| !line.is_empty())?;
        line.clone_into(&mut self.last.lock().unwrap_or_else(PoisonError::into_inner));
        Some(line)
    }

    /// Notes that stderr has ended.
    pub(super) fn fell_silent(&self) {
        self.silent.cancel();
    }

    /// Notes that it takes no more input.
    pub(super) fn went_deaf(&self) {
        self.deaf.cancel();
    }

    /// Waits until nobody can be talked to any more, although the output may still be open: what the child started can
    /// hold it, and would be waited for in every later call.
    pub(super) async fn over(&self) {
        tokio::select! {
            _ = exited(self.pid) => {}
            () = self.deaf.cancelled() => {}
        }
    }

    /// Why there is no more output.
    pub(super) async fn failure(&self) -> Failure {
        let died = timeout(PATIENCE, exited(self.pid)).await.ok().flatten();
        // Something below it may hold stderr open; then what was said so far is all.
        let _ = timeout(PATIENCE, self.silent.cancelled()).await;
        let how = match died {
            Some(status) => manner(&status),
            None if self.deaf.is_cancelled() => DEAF.to_owned(),
            None => "it closed its output".to_owned(),
        };
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let words =
            if last.is_empty() { String::new() } else { format!("; the last line on its stderr: {last}") };
        Failure::new(CallFault::Broken, format!("{how}{words}"))
    }
}

fn manner(status: &WaitIdStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("its process ended with exit status {code}"),
        (None, Some(signal)) => format!("its process was ended by signal {signal}"),
        (None, None) => "its process ended".to_owned(),
    }
}

/// Waits until the child has ended, and leaves it to be reaped by its owner. `None` when it is no child any more.
pub(super) async fn exited(pid: Pid) -> Option<WaitIdStatus> {
    // Before the first look, so that no end between a look and the wait is missed.
    let Ok(mut children) = signal(SignalKind::child()) else { return pending().await };
    loop {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        match waitid(WaitId::Pid(pid), options) {
            Ok(None) => {}
            Ok(Some(status)) => return Some(status),
            Err(_) => return None,
        }
        children.recv().await;
    }
}
