//! One invocation of a background function: works until nothing is due. What the event says does not matter, because what
//! is due is in the table; so a tick that comes twice, or late, or beside another one, changes nothing.

use std::sync::Arc;

use lambda_runtime::LambdaEvent;
use pudu_app::worker::{Drain, Report, Work};
use serde_json::Value;

/// Runs `work` until nothing is due or the invocation is nearly over.
pub async fn run(drain: &Drain, work: Arc<dyn Work>, event: &LambdaEvent<Value>) -> Report {
    let report = drain.run(work, crate::deadline::of(&event.context)).await;
    if report != Report::default() {
        let Report { worked, refused, failed, scans_failed } = report;
        tracing::info!(worked, refused, failed, scans_failed, "tick done");
    }
    report
}
