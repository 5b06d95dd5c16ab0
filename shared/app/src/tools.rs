//! Calling a tool by its visible name: an ordinary call answers, a submit tool starts a durable task.

mod arguments;
mod submit;
mod terms;

use std::sync::Arc;

use pudu_domain::{Payload, Policy, Principal, Timestamp};
use serde_json::{Map, Value};

use crate::catalog::{Catalog, NotFound, Role, Tool};
use crate::configs::{ConfigError, Configs};
use crate::drivers::{CORE_TASKS, Drivers, MCP_TASKS, ORDINARY_TOOLS};
use crate::limits::Limits;
use crate::ports::{CallError, Caller, McpClient, Random, StoreError, Submits, ToolCall};
use crate::settle::Settle;

use submit::Order;

pub use arguments::InvalidArguments;
pub use submit::Submitted;
pub use terms::Terms;

/// What a call brought.
#[derive(Debug, Clone, PartialEq)]
pub enum Invoked {
    /// The server's result object, unchanged.
    Result(Value),
    /// A durable task.
    Submitted(Submitted),
}

/// Why a call brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum InvokeError {
    /// There is no such tool.
    #[error("there is no tool '{name}'; GET /api/tools lists them")]
    Unknown {
        /// The name asked for.
        name: String,
    },
    /// Its server is switched off.
    #[error("tool '{name}' belongs to server '{server}', which is disabled; enable it in the config")]
    Disabled {
        /// The name asked for.
        name: String,
        /// The server.
        server: String,
    },
    /// The arguments do not fit the tool's schema.
    #[error(transparent)]
    Arguments(#[from] InvalidArguments),
    /// The server did not give a result.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The server did not take the task. The task's row says the same.
    #[error("server '{server}' did not take the task: {message}")]
    NotTaken {
        /// The server.
        server: String,
        /// Why, redacted.
        message: String,
    },
    /// It cannot be told whether the task runs; its row says so, and its thread is told.
    #[error("it is not known whether server '{server}' took the task, see task {task_id}: {message}")]
    Uncertain {
        /// The server.
        server: String,
        /// The local id under which the thread will hear of it.
        task_id: String,
        /// Why, redacted.
        message: String,
    },
    /// The server gave a handle that another task has.
    #[error("server '{server}' answered with the handle of a task that is already tracked")]
    Duplicate {
        /// The server.
        server: String,
    },
    /// The caller wants a task of a tool that is none.
    #[error("tool '{name}' does not run as a task; call it without \"durable\": true")]
    NotDurable {
        /// The name asked for.
        name: String,
    },
    /// The caller's key stands for another submission.
    #[error("this Idempotency-Key was given with another tool or other arguments before; use a new key")]
    KeyReused,
    /// The first call with the caller's key is not answered yet, and may bring no task.
    #[error("the first call with this Idempotency-Key is still under way; try again when it is answered")]
    UnderWay,
    /// The caller hung up before anything was sent.
    #[error("the caller hung up")]
    HungUp,
    /// The thread is being deleted.
    #[error("the thread is being deleted")]
    ThreadGone,
    /// The server cannot be used for tasks.
    #[error("server '{server}' cannot be used: {problem}")]
    Unusable {
        /// The server.
        server: String,
        /// Why.
        problem: String,
    },
    /// The config could not be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The table failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A tool that is about to be called.
#[derive(Debug, Clone)]
pub struct Found {
    /// The tool.
    pub tool: Arc<Tool>,
    /// One budget for all of it: what looking for the tool took, its call does not have.
    until: Timestamp,
}

/// Calls tools.
#[derive(Clone)]
pub struct Tools {
    /// What there is to call.
    pub catalog: Arc<Catalog>,
    /// Who is who.
    pub configs: Arc<Configs>,
    /// Calls.
    pub client: Arc<dyn McpClient>,
    /// Submits.
    pub drivers: Drivers,
    /// Records.
    pub settle: Settle,
    /// Ids.
    pub random: Arc<dyn Random>,
    /// How long a caller waits.
    pub limits: Limits,
    /// A name for this process.
    pub worker: String,
}

impl Tools {
    /// Calls the tool of that visible name for a caller's thread, on `terms`, if it is there for `who`, whose thread it is.
    pub async fn invoke(
        &self,
        who: &Principal,
        caller: Caller,
        name: &str,
        arguments: Map<String, Value>,
        terms: Terms,
    ) -> Result<Invoked, InvokeError> {
        let found = self.find(who, name).await?;
        self.call(&found, caller, arguments, terms).await
    }

    /// The tool of that visible name, if it is there for `who`.
    pub async fn find(&self, who: &Principal, name: &str) -> Result<Found, InvokeError> {
        let until = self.settle.clock.now() + self.limits.front_door;
        match self.catalog.find(who, name, self.limits.front_door).await? {
            Ok(tool) => Ok(Found { tool, until }),
            Err(NotFound::Unknown) => Err(InvokeError::Unknown { name: name.to_owned() }),
            Err(NotFound::Disabled { server }) => {
                Err(InvokeError::Disabled { name: name.to_owned(), server })
            }
            Err(NotFound::Down(error)) => Err(error.into()),
        }
    }

    /// Calls a tool that was found, for a caller's thread, on `terms`.
    pub async fn call(
        &self,
        found: &Found,
        caller: Caller,
        arguments: Map<String, Value>,
        terms: Terms,
    ) -> Result<Invoked, InvokeError> {
        let Found { tool, until } = found;
        let name = tool.name.as_str();
        let repeatable = terms.repeatable(name, &arguments);
        let arguments = arguments::check(tool, arguments)?;
        let limit = tool.server.call_timeout().min(until.since(self.settle.clock.now()));
        let (name, driver, by) = match &tool.role {
            Role::Call if terms.durable => return Err(InvokeError::NotDurable { name: name.to_owned() }),
            role if !terms.may_start_task(role) => {
                let definition = Some(Arc::clone(&tool.listed.definition));
                let call = ToolCall { definition, ..ToolCall::plain(tool.raw(), arguments) };
                let result = self.client.call_tool(&tool.server, &caller, call, limit).await?;
                return Ok(Invoked::Result(result));
            }
            Role::Submit(set) => (&set.name, ORDINARY_TOOLS, Submits::Toolset(set)),
            Role::MayBecomeTask => (&tool.name, MCP_TASKS, Submits::Tool(tool.raw())),
            Role::Core { .. } | Role::Call => (&tool.name, CORE_TASKS, Submits::Tool(tool.raw())),
        };
        let order = Order { name, driver, by, arguments, repeatable, terms: &terms };
        self.submit(&caller, &tool.server, order, limit).await
    }

    const fn policy(&self) -> &Policy {
        &self.settle.policy
    }
}

/// Whether a submission's answer could be stored, before it is: so that a task that cannot be tracked is undone.
fn storable(snapshot: &pudu_domain::Snapshot, policy: &Policy) -> Result<(), String> {
    Payload::bounded(snapshot.clone(), policy).map(drop).map_err(|error| error.to_string())
}
