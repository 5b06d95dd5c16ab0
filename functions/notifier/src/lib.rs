//! The notifier: on a tick, delivers what is due (DESIGN "Event").
//!
//! It keeps nothing between ticks, calls no server and opens no secret.

pub mod cloud;

use std::sync::Arc;

use lambda_runtime::LambdaEvent;
use pudu_app::worker::{self, Drain, Report};
use serde_json::Value;

/// The function's context, built once per process.
pub struct Notifier {
    drain: Drain,
    notifier: Arc<worker::Notifier>,
}

impl Notifier {
    /// A notifier over a drain with the same limits.
    pub fn new(drain: Drain, notifier: worker::Notifier) -> Self {
        Self { drain, notifier: Arc::new(notifier) }
    }

    /// One invocation. What the event says does not matter: what is due is in the table.
    pub async fn handle(&self, event: LambdaEvent<Value>) -> Report {
        let deadline = pudu_lambda::deadline::of(&event.context);
        let work: Arc<worker::Notifier> = Arc::clone(&self.notifier);
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
