//! What stands around the steps of runs, in order, and the tools of this house: the one place that lists them (agent reference 1.4, 1.9).
//! The first is outermost: before a model call they go from top to bottom, after it from bottom to top.

use std::sync::Arc;

use pudu_app::tasks::Tasks;

use crate::background::{AnswerBackgroundTask, CancelBackgroundTask, ListBackgroundTasks};
use crate::clarification::Clarification;
use crate::deferred::{DeferredTools, ToolSearch};
use crate::durable_context::DurableContext;
use crate::middleware::{DynamicContext, Middleware};
use crate::prompt::Prompt;
use crate::subagents::SubagentLimit;
use crate::summarization::Summarization;
use crate::title::Title;
use crate::todos::{Todos, WriteTodos};
use crate::tool::Tool;

/// Around the steps of an agent that users talk to.
pub fn lead() -> Vec<Arc<dyn Middleware>> {
    vec![
        Arc::new(Prompt),
        Arc::new(DynamicContext),
        Arc::new(DurableContext),
        Arc::new(Summarization),
        Arc::new(Todos),
        Arc::new(Title),
        Arc::new(DeferredTools),
        Arc::new(SubagentLimit),
        // Last, so that a question is the last word.
        Arc::new(Clarification),
    ]
}

/// Around the steps of a subagent: nobody is asked, nothing is delegated, and it has no plan and no title of its own.
pub fn subagent() -> Vec<Arc<dyn Middleware>> {
    vec![
        Arc::new(Prompt),
        Arc::new(DynamicContext),
        Arc::new(DurableContext),
        Arc::new(Summarization),
        Arc::new(DeferredTools),
    ]
}

/// The tools of this house; which of them a run has follows from its options.
pub fn tools(tasks: &Tasks) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(WriteTodos),
        Arc::new(Clarification),
        Arc::new(ToolSearch),
        Arc::new(ListBackgroundTasks(tasks.clone())),
        Arc::new(CancelBackgroundTask(tasks.clone())),
        Arc::new(AnswerBackgroundTask(tasks.clone())),
    ]
}
