//! From a process's use cases to whoever does the steps of runs: the models, the tools of this house, and what stands around a step.

use std::sync::Arc;

use pudu_agent::background::{AnswerBackgroundTask, CancelBackgroundTask, ListBackgroundTasks};
use pudu_agent::clarification::Clarification;
use pudu_agent::deferred::{DeferredTools, ToolSearch};
use pudu_agent::durable_context::DurableContext;
use pudu_agent::middleware::{DynamicContext, Middleware};
use pudu_agent::prompt::Prompt;
use pudu_agent::runner::{Parts, Runner};
use pudu_agent::subagents::SubagentLimit;
use pudu_agent::summarization::Summarization;
use pudu_agent::title::Title;
use pudu_agent::todos::{Todos, WriteTodos};
use pudu_agent::tool::Tool;
use pudu_app::ports::Models;
use pudu_app::wiring::Wiring;
use pudu_models::Clients;

/// A runner that claims under the name `worker`, over the use cases of its process. Opens no connection.
pub fn runner(wiring: &Wiring, worker: &str) -> Runner {
    runner_with(wiring, Arc::new(Clients::new()), worker)
}

/// The same with other models, for tests and measurements.
pub fn runner_with(wiring: &Wiring, models: Arc<dyn Models>, worker: &str) -> Runner {
    let runs = wiring.runs();
    Runner::new(Parts {
        worker: worker.to_owned(),
        runs: runs.store,
        checkpoints: runs.checkpoints,
        models,
        tools: wiring.tools(),
        keys: runs.keys,
        own: tools(wiring),
        lead: lead(),
        subagent: subagent(),
        clock: runs.clock,
        random: runs.random,
        policy: runs.policy,
        limits: wiring.drain().limits,
        wakeups: runs.wakeups,
    })
}

fn tools(wiring: &Wiring) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> =
        vec![Arc::new(Clarification), Arc::new(ToolSearch), Arc::new(WriteTodos)];
    let tasks = wiring.tasks();
    tools.push(Arc::new(ListBackgroundTasks(tasks.clone())));
    tools.push(Arc::new(CancelBackgroundTask(tasks.clone())));
    tools.push(Arc::new(AnswerBackgroundTask(tasks)));
    tools
}

/// What stands around an agent's steps, in the order of agent reference 1.4.
fn lead() -> Vec<Arc<dyn Middleware>> {
    vec![
        Arc::new(Prompt),
        Arc::new(DynamicContext),
        Arc::new(DurableContext),
        Arc::new(Summarization),
        Arc::new(Todos),
        Arc::new(Title),
        Arc::new(DeferredTools),
        Arc::new(SubagentLimit),
        Arc::new(Clarification),
    ]
}

/// The same of a subagent, which keeps no list, has no title and asks nobody.
fn subagent() -> Vec<Arc<dyn Middleware>> {
    vec![
        Arc::new(Prompt),
        Arc::new(DynamicContext),
        Arc::new(DeferredTools),
        Arc::new(DurableContext),
        Arc::new(Summarization),
    ]
}
