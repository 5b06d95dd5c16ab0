//! The task that has one session.

use std::future::pending;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Job, Shared, Stage, Ticket, closed_too_early};
use crate::pipe::Pipe;
use crate::session::Session;
use crate::stdio::host::Host;
use crate::stdio::recipe::Recipe;
use crate::stdio::shown::Shown;
use crate::wire::Failure;

/// See the module.
pub(super) struct Owner {
    pub(super) shared: Arc<Shared>,
    pub(super) ticket: Ticket,
    pub(super) stage: Arc<watch::Sender<Stage>>,
    pub(super) queue: mpsc::Receiver<Job>,
    /// The session is to end now.
    pub(super) close: CancellationToken,
    /// Dropped when nothing of the session is left.
    #[expect(dead_code, reason = "it acts when it is dropped")]
    pub(super) gone: DropGuard,
}

impl Owner {
    /// Opens the session, serves it and ends it.
    pub(super) async fn run(mut self, host: Arc<dyn Host>, recipe: Recipe, shown: Shown) {
        let (pipe, body) = match host.start(&recipe, shown) {
            Ok(started) => started,
            Err(failure) => return self.fail(failure),
        };
        match self.open(&recipe, pipe.clone()).await {
            Some(Ok(session)) => {
                self.stage.send_replace(Stage::Open);
                self.serve(&session, &pipe).await;
                drop(session);
            }
            Some(Err(failure)) => self.fail(failure),
            None => self.fail(closed_too_early()),
        }
        self.leave();
        body.end().await;
    }

    /// `None` when it is not wanted any more: closed, or everybody who waited for it has gone.
    async fn open(&self, recipe: &Recipe, pipe: Pipe) -> Option<Result<Session, Failure>> {
        let opening = async {
            let opened = timeout(recipe.init, Session::over(pipe, Arc::default())).await;
            opened.unwrap_or_else(|_| Err(Failure::timeout(recipe.init)))
        };
        let opened = tokio::select! {
            biased;
            () = self.close.cancelled() => None,
            () = self.unwanted() => None,
            opened = opening => Some(opened),
        };
        // A close that came in the same moment wins.
        opened.filter(|_| !self.close.is_cancelled())
    }

    async fn unwanted(&self) {
        loop {
            self.stage.closed().await;
            if self.shared.remove_unwanted(&self.ticket, &self.stage) {
                return;
            }
        }
    }

    /// Until it is to end: closed, ended at the other side, or in nobody's hands any more.
    async fn serve(&mut self, session: &Session, pipe: &Pipe) {
        let mut running = FuturesUnordered::new();
        let mut rests_since = Instant::now();
        let mut kept = true;
        while kept || !running.is_empty() {
            let idle = timeout_at(rests_since + self.shared.idle, pending::<()>());
            tokio::select! {
                biased;
                () = self.close.cancelled() => return,
                () = pipe.ending() => break,
                job = self.queue.recv(), if kept => match job {
                    Some(job) => running.push(carry_out(session, job)),
                    // Taken out of the table, and no lease is left.
                    None => kept = false,
                },
                Some(()) = running.next() => {
                    rests_since = Instant::now();
                    if session.is_closed() {
                        break;
                    }
                }
                _ = idle, if kept && running.is_empty() => {
                    self.shared.remove(&self.ticket);
                    rests_since = Instant::now();
                }
            }
        }
        // First out of the table, so that whoever sees a failure and calls again finds another session.
        self.leave();
        while running.next().await.is_some() {}
    }

    fn fail(&mut self, failure: Failure) {
        self.leave();
        self.stage.send_replace(Stage::Failed(failure));
    }

    fn leave(&mut self) {
        self.shared.remove(&self.ticket);
        self.queue.close();
        // Whoever waits in it hears at once that nothing was sent.
        while self.queue.try_recv().is_ok() {}
    }
}

async fn carry_out(session: &Session, job: Job) {
    let Job { ask, mut reply } = job;
    if reply.is_closed() {
        return;
    }
    if let Some(answer) = session.ask(ask, reply.closed()).await {
        // Whoever gave up in this moment has its answer already: a timeout.
        drop(reply.send(answer));
    }
}
