//! One tool call: the chain of interceptors, and the sending at its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures_util::FutureExt;
use http::HeaderMap;
use pudu_app::ports::{CallError, Caller, ToolCall};
use pudu_config::Server;
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use super::Client;
use crate::credentials::{self, FromContext, PerUser};
use crate::interceptor::{End, Interceptor, Next, Request};
use crate::stateless::param_headers;
use crate::target::Target;
use crate::wire::Failure;

/// Where every request of one call is sent.
struct Sending<'a> {
    client: &'a Client,
    /// With the static headers only.
    target: &'a Target,
    /// The tool as its server listed it, where that is known.
    definition: Option<Arc<Value>>,
    until: Instant,
    /// Whether anything of the caller's was sent, in any attempt.
    sent: Arc<AtomicBool>,
}

#[async_trait]
impl End for Sending<'_> {
    async fn send(&self, request: Request<'_>) -> Result<Value, CallError> {
        let target = self.target.with(&request.headers)?;
        let extra = match &self.definition {
            Some(definition) => param_headers::headers(definition, &request.arguments),
            None => HeaderMap::new(),
        };
        let params = Map::from_iter([
            ("name".to_owned(), Value::String(request.tool)),
            ("arguments".to_owned(), Value::Object(request.arguments)),
        ]);
        let sent = Arc::new(AtomicBool::new(false));
        let answer = self
            .client
            .converse(&target, self.until, &sent, target.calling, |link, _| {
                link.request("tools/call", params, extra).boxed()
            })
            .await;
        self.sent.fetch_or(sent.load(Ordering::Acquire), Ordering::AcqRel);
        answer.map_err(|failure| target.error(&failure))
    }
}

/// Calls a tool until `until` at the latest.
pub(super) async fn call(
    client: &Client,
    server: &Server,
    caller: &Caller,
    call: ToolCall,
    until: Instant,
) -> Result<Value, CallError> {
    let limit = until.duration_since(Instant::now());
    let secrets = client.secrets.as_ref();
    let target = client.target(server)?.knowing(&credentials::known(server, caller, secrets));
    let (user, context) = (PerUser::of(server, secrets), FromContext::of(server));
    let custom = client.interceptors.named(&server.interceptors);
    let mut chain: Vec<&dyn Interceptor> = Vec::with_capacity(custom.len() + 2);
    chain.extend(user.as_ref().map(|user| user as &dyn Interceptor));
    chain.extend(context.as_ref().map(|context| context as &dyn Interceptor));
    chain.extend(custom.iter().map(AsRef::as_ref));

    let ToolCall { tool, arguments, definition } = call;
    let sent = Arc::new(AtomicBool::new(false));
    let end = Sending { client, target: &target, definition, until, sent: Arc::clone(&sent) };
    let request = Request { server, caller, tool, arguments, headers: pudu_config::Headers::default() };
    if let Ok(answer) = timeout_at(until, Next::new(&chain, &end).call(request)).await {
        // An interceptor may have put anything into its error.
        return answer.map_err(|error| target.told(error));
    }
    // The sending has the same limit and is asked first, so this is an interceptor that takes too long.
    let failure = Failure::timeout(limit);
    let begun = sent.load(Ordering::Acquire);
    Err(target.error(&if begun { failure } else { failure.before_sending() }))
}
