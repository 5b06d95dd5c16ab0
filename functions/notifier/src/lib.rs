//! The notifier: on a tick, delivers what is due (DESIGN "Event").
//!
//! It keeps nothing between ticks, calls no server and opens no secret.

pub mod cloud;

use std::sync::Arc;

use lambda_runtime::LambdaEvent;
use pudu_app::worker::{self, Drain, Report};
use pudu_lambda::tick;
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

    /// One invocation.
    pub async fn handle(&self, event: LambdaEvent<Value>) -> Report {
        tick::run(&self.drain, self.notifier.clone(), &event).await
    }
}
