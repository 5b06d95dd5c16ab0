//! The task-poller: on a tick, works until nothing is due (DESIGN "Poll", "Cancel").
//!
//! It keeps nothing between ticks.

pub mod cloud;

use std::sync::Arc;

use lambda_runtime::LambdaEvent;
use pudu_app::worker::{Drain, Poller, Report};
use pudu_lambda::tick;
use serde_json::Value;

/// The function's context, built once per process.
pub struct TaskPoller {
    drain: Drain,
    poller: Arc<Poller>,
}

impl TaskPoller {
    /// A poller over a drain with the same limits.
    pub fn new(drain: Drain, poller: Poller) -> Self {
        Self { drain, poller: Arc::new(poller) }
    }

    /// One invocation.
    pub async fn handle(&self, event: LambdaEvent<Value>) -> Report {
        tick::run(&self.drain, self.poller.clone(), &event).await
    }
}
