//! Fault injection: a gate that each call of a worker passes on its way out and on its way back.
//!
//! A [`Script`] names the fate of the n-th call. A crash never returns: the call hangs for ever, the harness is told by
//! [`Gate::crashed`] and drops the worker; until then nothing of that worker gets through the gate any more.

mod remote;
mod run_store;
mod runs;
mod script;
mod stores;

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pudu_app::ports::{Clock, StoreError};
use tokio::sync::watch;

pub use script::{CrashAt, Mishaps, Open};

use crate::clock::ManualClock;
use crate::lock::lock;
use crate::trace::Trace;

/// What happens to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Nothing.
    Pass,
    /// It reaches the other side only after a while.
    Delay(Duration),
    /// It is carried out at once, and its answer comes after a while.
    Late(Duration),
    /// It never reaches the other side, and the caller cannot know that.
    FailBefore,
    /// It is carried out, and its answer is lost.
    LoseAnswer,
    /// The worker dies before it is sent.
    CrashBefore,
    /// It is carried out, and the worker dies before the answer.
    CrashAfter,
}

/// One call, as a script sees it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Whose.
    pub worker: &'a str,
    /// Which of that worker, from 0.
    pub number: u64,
    /// The port and its method, for example `tasks.commit`.
    pub op: &'static str,
}

/// Decides what happens to calls.
pub trait Script: Send {
    /// The fate of a call; asked once per call, in the order in which they are made.
    fn fate(&mut self, call: Call<'_>) -> Fate;
}

impl<F: FnMut(Call<'_>) -> Fate + Send> Script for F {
    fn fate(&mut self, call: Call<'_>) -> Fate {
        self(call)
    }
}

/// A call without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// It was not carried out.
    #[error("injected: the connection was refused")]
    NotSent,
    /// It was carried out.
    #[error("injected: the connection broke before the answer")]
    AnswerLost,
}

/// The gate of one worker. Clones are the same gate.
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

struct Inner {
    worker: String,
    clock: Arc<dyn Clock>,
    trace: Trace,
    script: Mutex<Box<dyn Script>>,
    calls: AtomicU64,
    crashed: watch::Sender<bool>,
}

impl Gate {
    /// A gate whose calls are recorded in `trace` and judged by `script`.
    pub fn new(worker: &str, clock: Arc<dyn Clock>, trace: Trace, script: impl Script + 'static) -> Self {
        Self(Arc::new(Inner {
            worker: worker.to_owned(),
            clock,
            trace,
            script: Mutex::new(Box::new(script)),
            calls: AtomicU64::new(0),
            crashed: watch::Sender::new(false),
        }))
    }

    /// A gate that stands open and records nothing.
    pub fn open() -> Self {
        Self::new("", Arc::new(ManualClock::start()), Trace::off(), Open)
    }

    /// How many calls were made.
    pub fn calls(&self) -> u64 {
        self.0.calls.load(Ordering::SeqCst)
    }

    /// Returns when the worker has crashed; never, if it does not.
    pub async fn crashed(&self) {
        let mut seen = self.0.crashed.subscribe();
        if seen.wait_for(|crashed| *crashed).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Whether the worker has crashed.
    pub fn has_crashed(&self) -> bool {
        *self.0.crashed.borrow()
    }

    /// Kills the worker from outside, at whatever it waits for.
    pub fn crash(&self) {
        self.0.trace.record(format_args!("{} crashes", self.0.worker));
        self.0.crashed.send_replace(true);
    }

    /// One call through the gate.
    pub async fn call<T: Debug>(&self, op: &'static str, call: impl Future<Output = T>) -> Result<T, Broken> {
        self.unless_dead().await;
        let inner = &*self.0;
        let number = inner.calls.fetch_add(1, Ordering::SeqCst);
        let fate = lock(&inner.script).fate(Call { worker: &inner.worker, number, op });
        match fate {
            Fate::CrashBefore => self.die(op).await,
            Fate::FailBefore => {
                self.record(op, fate, &Broken::NotSent);
                return Err(Broken::NotSent);
            }
            Fate::Delay(by) => inner.clock.sleep(by).await,
            Fate::Pass | Fate::Late(_) | Fate::LoseAnswer | Fate::CrashAfter => {}
        }
        self.unless_dead().await;
        let answer = call.await;
        self.record(op, fate, &answer);
        match fate {
            Fate::CrashAfter => self.die(op).await,
            Fate::LoseAnswer => return Err(Broken::AnswerLost),
            Fate::Late(by) => inner.clock.sleep(by).await,
            Fate::Pass | Fate::Delay(_) | Fate::FailBefore | Fate::CrashBefore => {}
        }
        self.unless_dead().await;
        Ok(answer)
    }

    fn record(&self, op: &'static str, fate: Fate, answer: &dyn Debug) {
        let at = self.0.clock.now().as_millis();
        self.0.trace.record(format_args!("{at} {} {op} {fate:?}: {answer:?}", self.0.worker));
    }

    async fn unless_dead(&self) {
        if self.has_crashed() {
            std::future::pending::<()>().await;
        }
    }

    async fn die(&self, op: &'static str) {
        self.0.trace.record(format_args!("{} dies in {op}", self.0.worker));
        self.0.crashed.send_replace(true);
        std::future::pending::<()>().await;
    }
}

impl Broken {
    /// The same, as a store says it.
    pub fn at_the_table(self, operation: &'static str) -> StoreError {
        StoreError::Unavailable { operation, source: Box::new(self) }
    }
}

/// A port behind a gate.
#[derive(Clone)]
pub struct Gated<P: ?Sized> {
    inner: Arc<P>,
    gate: Gate,
}

impl<P: ?Sized> Gated<P> {
    /// Puts `inner` behind `gate`.
    pub fn new(inner: Arc<P>, gate: Gate) -> Self {
        Self { inner, gate }
    }
}
