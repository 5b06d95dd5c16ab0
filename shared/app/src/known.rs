//! A client of MCP servers that knows what they listed: it tells each call the tool's definition, and holds results to it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pudu_config::Server;
use pudu_domain::ThreadKey;
use serde_json::Value;
use tokio::time::Instant;

use crate::changes::ListChanges;
use crate::listings::{ListedTool, Listings};
use crate::ports::{
    CallError, CallFault, Caller, CatalogStore, Clock, Era, Judged, Listing, McpClient, TaskProtocol,
    TaskReply, TaskRequest, ToolCall,
};

/// What a question about a result leaves of its call's limit, so that whoever waits as long gets the result all the same.
const HANDING_BACK: Duration = Duration::from_millis(250);

/// A client with the lists of its servers.
#[derive(Clone)]
pub struct Known {
    listings: Arc<Listings>,
}

impl Known {
    /// Over `client`, with lists that are kept in `store` and void when `changes` says so.
    pub fn new(
        client: Arc<dyn McpClient>,
        store: Arc<dyn CatalogStore>,
        changes: ListChanges,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { listings: Arc::new(Listings::new(client, store, changes, clock)) }
    }

    /// The lists.
    pub const fn listings(&self) -> &Arc<Listings> {
        &self.listings
    }

    /// A result that does not fit what is known of its tool may fit what the tool declares today. A result condemns a
    /// task, so the server is asked for that first.
    async fn condemn(
        &self,
        server: &Server,
        name: &str,
        result: &Value,
        misfit: String,
        left: Duration,
    ) -> Result<(), CallError> {
        let Some(known) = self.listings.peek(server).last else {
            return Err(violation(server, name, &misfit));
        };
        let today = self.listings.again(server, &known, left).await.map_err(|error| unsure(error, name))?;
        match today.tool(name).and_then(|tool| tool.misfit(result)) {
            Some(misfit) => Err(violation(server, name, &misfit)),
            None => Ok(()),
        }
    }

    /// The call was refused, and meanwhile the list became void: it was made by what the server has no more. The next one
    /// shall be made by what it has, also a worker's, which never asks otherwise, and one of another process.
    async fn renew(&self, server: &Server, left: Duration) {
        let Some(known) = self.listings.peek(server).last else { return };
        if let Err(error) = self.listings.again(server, &known, left).await {
            tracing::warn!(server = %server.name, %error, "a call did not fit the list of tools, and there is no newer one");
        }
    }
}

#[async_trait]
impl McpClient for Known {
    async fn list_tools(&self, server: &Server, limit: Duration) -> Result<Listing, CallError> {
        self.listings.client().list_tools(server, limit).await
    }

    async fn call_tool(
        &self,
        server: &Server,
        caller: &Caller,
        call: ToolCall,
        limit: Duration,
    ) -> Result<Value, CallError> {
        let Judged { result, broken } = self.call_tool_judged(server, caller, call, limit).await?;
        broken.map_or(Ok(result), Err)
    }

    async fn call_tool_judged(
        &self,
        server: &Server,
        caller: &Caller,
        call: ToolCall,
        limit: Duration,
    ) -> Result<Judged, CallError> {
        let began = Instant::now();
        let (name, tasks) = (call.tool.clone(), call.tasks);
        // A worker asks nobody but the table, which it asks anyway: a poll must not cost its server a question.
        let listed = self.listings.recall(server).await;
        let tool: Option<Arc<ListedTool>> = listed.and_then(|listed| listed.tool(&name).cloned());
        let call = match &tool {
            Some(tool) => tool.declare(call),
            None => call,
        };
        let left = limit.saturating_sub(began.elapsed());
        let mark = self.listings.mark(server);
        let result = match self.listings.client().call_tool(server, caller, call, left).await {
            Ok(result) => result,
            Err(error) => {
                if error.fault == CallFault::Refused && self.listings.mark(server) != mark {
                    self.renew(server, limit.saturating_sub(began.elapsed() + HANDING_BACK)).await;
                }
                return Err(error);
            }
        };
        // A task in the place of a result; what it will bring is judged when it is there.
        let is_task = tasks == Some(TaskProtocol::Core) && result.get("task").is_some_and(Value::is_object);
        let broken = match tool.filter(|_| !is_task).and_then(|tool| tool.misfit(&result)) {
            Some(misfit) => {
                let left = limit.saturating_sub(began.elapsed() + HANDING_BACK);
                self.condemn(server, &name, &result, misfit, left).await.err()
            }
            None => None,
        };
        Ok(Judged { result, broken })
    }

    async fn ask_task(
        &self,
        server: &Server,
        caller: &Caller,
        request: TaskRequest,
        limit: Duration,
    ) -> Result<TaskReply, CallError> {
        self.listings.client().ask_task(server, caller, request, limit).await
    }

    async fn judge_result(
        &self,
        server: &Server,
        tool: &str,
        result: &Value,
        limit: Duration,
    ) -> Option<CallError> {
        let listed = self.listings.recall(server).await?;
        let misfit = listed.tool(tool)?.misfit(result)?;
        self.condemn(server, tool, result, misfit, limit).await.err()
    }

    async fn era(&self, server: &Server) -> Option<Era> {
        self.listings.client().era(server).await
    }

    fn keep_servers(&self, names: &BTreeSet<&str>) {
        self.listings.client().keep_servers(names);
    }

    async fn close_thread(&self, thread: &ThreadKey) {
        self.listings.client().close_thread(thread).await;
    }

    async fn close_all(&self) {
        self.listings.client().close_all().await;
    }

    fn task_obstacle(&self, server: &Server) -> Option<String> {
        self.listings.client().task_obstacle(server)
    }
}

/// Nobody can say whether the result breaks its promise. The call itself was executed, whatever the question met: a fault that
/// says otherwise (`NotSent`, `Refused`) would make a caller forget a task that runs.
fn unsure(error: CallError, tool: &str) -> CallError {
    let message = format!(
        "tool '{tool}' answered what does not fit its output schema as it was last listed, and the list could not be asked for \
         again: {}",
        error.message
    );
    CallError { fault: CallFault::Broken, message, ..error }
}

fn violation(server: &Server, tool: &str, misfit: &str) -> CallError {
    let message = format!("tool '{tool}' broke its own output schema: {misfit}");
    CallError { server: server.name.clone(), fault: CallFault::Violation, message }
}
