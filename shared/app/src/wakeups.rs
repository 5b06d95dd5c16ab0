//! Waking whoever works in the background, once something is due for him.
//!
//! Best effort: it never fails what was committed before it, and delays it by at most `PATIENCE`. A wake-up that is lost
//! costs at most one period of the schedule.

use std::sync::Arc;
use std::time::Duration;

use pudu_domain::Timestamp;

use crate::chain::Chain;
use crate::limits::Limits;
use crate::ports::{Background, Beacons, Clock, StoreError, Wake, WakeError, Waker};

/// How long a wake-up may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Leaves word with a function that is awake, and invokes one that is not.
#[derive(Clone)]
pub struct Wakeups {
    /// Who is awake.
    pub beacons: Arc<dyn Beacons>,
    /// How functions are invoked; without it only those that are awake hear anything.
    pub waker: Option<Arc<dyn Waker>>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// How far ahead a worker waits, and looks.
    pub limits: Limits,
}

impl Wakeups {
    /// Wakes whoever works on `items`. What is due so late that a worker would not wait for it is left to the schedule.
    pub async fn wake(&self, items: Vec<Wake>) {
        for function in Background::ALL {
            let mine = items.iter().filter(|item| item.function() == Some(function));
            let mine: Vec<Wake> = mine.cloned().collect();
            self.one(function, &mine).await;
        }
    }

    /// Whether anybody works on what is left to `function`: it was seen within [`Limits::unattended`]. Costs one cheap read.
    pub async fn is_attended(&self, function: Background) -> Result<bool, StoreError> {
        let beacon = self.beacons.look(function).await?;
        Ok(beacon.was_seen(self.clock.now(), self.limits.unattended()))
    }

    async fn one(&self, function: Background, items: &[Wake]) {
        let now = self.clock.now();
        let soon = |wait: Duration| items.iter().any(|item| item.due_at <= now + wait);
        if !soon(self.limits.ahead()) {
            return;
        }
        let invoke = soon(self.limits.linger);
        match tokio::time::timeout(PATIENCE, self.call(function, items, invoke)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(function = function.as_str(), error = %Chain(&error), "not woken; the next tick works on it");
            }
            Err(_) => {
                tracing::warn!(
                    function = function.as_str(),
                    "waking took too long; the next tick works on it"
                );
            }
        }
    }

    async fn each(&self, function: Background, items: &[Wake]) -> Result<(), WakeError> {
        let Some(waker) = &self.waker else { return Ok(()) };
        let soon = self.clock.now() + self.limits.linger;
        for item in items.iter().filter(|item| item.due_at <= soon) {
            waker.wake(function, std::slice::from_ref(item)).await?;
        }
        Ok(())
    }

    async fn call(&self, function: Background, items: &[Wake], invoke: bool) -> Result<(), WakeError> {
        // A run is worked on for minutes and wants its invocation's memory and time for itself; and whoever asked for it waits,
        // so it is not left to the next look of somebody who is awake.
        if function == Background::Agent {
            return self.each(function, items).await;
        }
        match self.beacons.knock(function).await {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            // Rather one invocation too many: it finds out by itself who is awake.
            Err(error) => {
                tracing::warn!(function = function.as_str(), error = %Chain(&error), "it is not known who is awake");
            }
        }
        match &self.waker {
            Some(waker) if invoke => waker.wake(function, items).await,
            _ => Ok(()),
        }
    }
}

/// Items whose functions are to be woken, in the making: an event and its task often come together.
pub(crate) fn items(task: Option<Wake>, event: Option<Wake>) -> Vec<Wake> {
    task.into_iter().chain(event).collect()
}

/// The event that a commit made, if it made one.
pub(crate) fn event(task: &pudu_domain::Task, announced: bool, at: Timestamp) -> Option<Wake> {
    announced.then(|| Wake::of_event(task.key.clone(), task.attention.version, at))
}
