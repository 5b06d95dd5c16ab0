//! The agent: invoked for a run, does its steps until it ends, waits, or the invocation is nearly over; on a tick, takes up what
//! nobody was invoked for (DESIGN section 7).
//!
//! It keeps nothing between invocations: what a run knows is in its checkpoints.

pub mod cloud;

use std::sync::Arc;

use lambda_runtime::LambdaEvent;
use pudu_app::worker::{Drain, Report, Work};
use pudu_lambda::tick;
use serde_json::Value;

/// The function's context, built once per process.
pub struct Agent {
    drain: Drain,
    runs: Arc<dyn Work>,
}

impl Agent {
    /// An agent over a drain with the same limits as `runs`, which serves the run lane.
    pub fn new(drain: Drain, runs: Arc<dyn Work>) -> Self {
        Self { drain, runs }
    }

    /// One invocation.
    pub async fn handle(&self, event: LambdaEvent<Value>) -> Report {
        tick::run(&self.drain, Arc::clone(&self.runs), &event).await
    }
}
