//! The example, and of use: joins a call's line in our log with the trace at the server.
//!
//! It gives every call a W3C trace context (`traceparent`) unless something before it set one, and writes one line with
//! the same trace id when the answer is there. Of another one that adds a header only the lines around `set` differ.

use std::sync::Arc;

use async_trait::async_trait;
use pudu_app::ports::{CallError, Random};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::Instant;

use super::{Interceptor, Next, Request};

const HEADER: &str = "traceparent";

/// Adds `traceparent` and logs each call under its trace id.
pub struct TraceContext {
    random: Arc<dyn Random>,
}

impl TraceContext {
    /// Its name in `mcpInterceptors`.
    pub const NAME: &'static str = "trace-context";

    /// One that draws its ids from `random`.
    pub fn new(random: Arc<dyn Random>) -> Self {
        Self { random }
    }

    /// `00-<trace id, 32 hex>-<parent id, 16 hex>-01`: version 0, and a caller that recorded its part (in the log).
    fn fresh(&self) -> String {
        let mut bytes = [0; 24];
        self.random.fill(&mut bytes);
        let (trace, parent) = bytes.split_at(16);
        format!("00-{}-{}-01", hex::encode(trace), hex::encode(parent))
    }
}

#[async_trait]
impl Interceptor for TraceContext {
    async fn intercept(&self, mut request: Request<'_>, next: Next<'_>) -> Result<Value, CallError> {
        let context = match request.headers.get(HEADER) {
            Some(there) => there.expose_secret().to_owned(),
            None => self.fresh(),
        };
        request.headers.set(HEADER, SecretString::from(context.as_str()));
        let (server, method, tool) = (request.server.name.clone(), request.method, request.tool.clone());
        let began = Instant::now();
        let answer = next.call(request).await;
        let fault = answer.as_ref().err().map(|error| error.fault);
        tracing::info!(
            server,
            method,
            tool,
            trace.id = context.split('-').nth(1).unwrap_or_default(),
            duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            ?fault,
            "a tool was called"
        );
        answer
    }
}
