//! One invocation of a background function. A tick works until nothing is due, whatever its event says, because what is due
//! is in the table: one that comes twice, or late, or beside another one, changes nothing. A wake-up names the items that it
//! is for, since they may not be in the index yet; so it may come twice or never.

use std::sync::Arc;

use lambda_runtime::LambdaEvent;
use pudu_app::worker::{Call, Drain, Report, Work};
use serde_json::Value;

use crate::{deadline, wake_event};

/// Runs `work` until nothing is due or the invocation is nearly over.
pub async fn run(drain: &Drain, work: Arc<dyn Work>, event: &LambdaEvent<Value>) -> Report {
    let call = wake_event::decode(&event.payload);
    let woken_for = match &call {
        Call::Tick => 0,
        Call::Wake(items) => items.len(),
    };
    let report = drain.answer(work, call, deadline::of(&event.context)).await;
    if report != Report::default() {
        let Report { worked, refused, failed, scans_failed } = report;
        tracing::info!(worked, refused, failed, scans_failed, woken_for, "tick done");
    }
    report
}
