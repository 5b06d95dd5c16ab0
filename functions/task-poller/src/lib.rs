//! The task-poller: on a tick, works until nothing is due (DESIGN "Poll", "Cancel").
//!
//! It keeps nothing between ticks. A tick that comes twice, or late, or beside another poller, changes nothing: every
//! row is claimed before it is worked on.

pub mod cloud;

use std::sync::Arc;

use lambda_runtime::LambdaEvent;
use pudu_app::worker::{Drain, Poller, Report};
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

    /// One invocation. What the event says does not matter: what is due is in the table.
    pub async fn handle(&self, event: LambdaEvent<Value>) -> Report {
        let deadline = pudu_lambda::deadline::of(&event.context);
        let work: Arc<Poller> = Arc::clone(&self.poller);
        let report = self.drain.run(work, deadline).await;
        if report != Report::default() {
            tracing::info!(
                worked = report.worked,
                refused = report.refused,
                failed = report.failed,
                scans_failed = report.scans_failed,
                "tick done"
            );
        }
        report
    }
}
