//! What stands around the steps of runs, in order: the one place that lists it (agent reference 1.4).
//! The first is outermost: before a model call they go from top to bottom, after it from bottom to top.

use std::sync::Arc;

use crate::clarification::Clarification;
use crate::deferred::DeferredTools;
use crate::durable_context::DurableContext;
use crate::middleware::{DynamicContext, Middleware};
use crate::prompt::Prompt;
use crate::subagents::SubagentLimit;
use crate::summarization::Summarization;
use crate::title::Title;
use crate::todos::Todos;

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
