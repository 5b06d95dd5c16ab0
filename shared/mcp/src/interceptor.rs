//! What stands between a caller and the transport: built-in credentials first, then what an operator names in
//! `mcpInterceptors` (reference 5.1, 5.8).
//!
//! The first of the list is outermost; a later one runs closer to the transport, so what it writes wins. An interceptor
//! sees a call before it is sent and its answer after, may change the tool's name, the arguments and the headers, may
//! answer by itself, and may call on more than once where it knows that the first sending was not executed.

mod registry;
mod trace_context;

use async_trait::async_trait;
use pudu_app::ports::{CallError, CallFault, Caller};
use pudu_config::{Headers, Server};
use serde_json::{Map, Value};

pub use registry::{FactoryError, Interceptors};
pub use trace_context::TraceContext;

/// A call on its way out.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Which server.
    pub server: &'a Server,
    /// On whose behalf.
    pub caller: &'a Caller,
    /// `tools/call`, or a request about the task that such a call became: `tasks/get` and its like.
    pub method: &'static str,
    /// The tool by its server's own name.
    pub tool: String,
    /// Its arguments; of a request about a task, its parameters.
    pub arguments: Map<String, Value>,
    /// Headers beyond those of the file, which they override. On stdio they travel as `_meta.headers`. Their values are kept
    /// out of every text.
    pub headers: Headers,
}

/// What is left of the way to the server.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    rest: &'a [&'a dyn Interceptor],
    end: &'a dyn End,
}

/// One link of the chain. It must not keep anything of a request: the next one may be another user's.
#[async_trait]
pub trait Interceptor: Send + Sync {
    /// Calls on with `next`, or answers by itself. The text of an error of its own must hold no secret but those that came
    /// with the request; [`Request::denied`] makes one.
    async fn intercept(&self, request: Request<'_>, next: Next<'_>) -> Result<Value, CallError>;
}

/// Where the chain ends.
#[async_trait]
pub(crate) trait End: Send + Sync {
    async fn send(&self, request: Request<'_>) -> Result<Value, CallError>;
}

impl<'a> Next<'a> {
    /// The whole chain.
    pub(crate) const fn new(rest: &'a [&'a dyn Interceptor], end: &'a dyn End) -> Self {
        Self { rest, end }
    }

    /// Hands the request on, and returns the server's result object, or what an interceptor in between made of it.
    pub async fn call(self, request: Request<'_>) -> Result<Value, CallError> {
        match self.rest.split_first() {
            Some((first, rest)) => first.intercept(request, Self { rest, end: self.end }).await,
            None => self.end.send(request).await,
        }
    }
}

impl Request<'_> {
    /// A refusal for want of a credential: nothing was sent. `message` names what is missing and what to do.
    pub fn denied(&self, message: impl Into<String>) -> CallError {
        CallError { server: self.server.name.clone(), fault: CallFault::Denied, message: message.into() }
    }
}
