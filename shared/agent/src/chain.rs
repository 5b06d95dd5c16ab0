//! What stands around the steps of runs, in order: the one place that lists it (agent reference 1.4). The first is outermost:
//! before a model call they go from top to bottom, after it from bottom to top.
//!
//! Row 8, the retries around a model call, is no entry: it is [`crate::retry`], and the breaker and the limit of calls that all
//! processes share are around [`Models`](pudu_app::ports::Models). Absent, because what they need is not there yet: 4 `ThreadData`,
//! 5 `Uploads`, 6 `Sandbox`, 9 `Guardrail`, 10 `SandboxAudit`, 11 `ReadBeforeWrite`, 12 `ToolProgress`, 15 `SkillActivation`, 16
//! `SkillToolPolicy`, 23 `ViewImage`, 30 and 31, what others bring.

use std::sync::Arc;

use pudu_app::runs::results::Results;

use crate::clarification::Clarification;
use crate::deferred::DeferredTools;
use crate::durable_context::DurableContext;
use crate::goal::GoalContinuation;
use crate::memory::Memory;
use crate::middleware::{
    DanglingToolCall, DynamicContext, InputSanitization, LoopDetection, Middleware, ModelLengthFinishReason,
    SafetyFinishReason, SystemMessageCoalescing, TerminalResponse, TokenBudget, TokenUsage,
    ToolErrorHandling, ToolOutputBudget, ToolResultSanitization,
};
use crate::prompt::Prompt;
use crate::subagents::SubagentLimit;
use crate::summarization::Summarization;
use crate::title::Title;
use crate::todos::Todos;

/// Middlewares, the outermost first.
pub type Chain = Vec<Arc<dyn Middleware>>;

/// Around the steps of an agent that users talk to; long results of its tools go to `results`.
pub fn lead(results: &Results) -> Chain {
    vec![
        Arc::new(Prompt),
        Arc::new(InputSanitization),
        Arc::new(ToolOutputBudget { results: Some(results.clone()) }),
        Arc::new(ToolResultSanitization),
        Arc::new(DanglingToolCall),
        Arc::new(ToolErrorHandling),
        Arc::new(DynamicContext),
        Arc::new(DurableContext),
        Arc::new(Summarization),
        Arc::new(Todos),
        Arc::new(TokenUsage),
        Arc::new(Title),
        Arc::new(Memory),
        Arc::new(DeferredTools),
        Arc::new(SystemMessageCoalescing),
        Arc::new(SubagentLimit),
        Arc::new(LoopDetection),
        Arc::new(TokenBudget),
        Arc::new(TerminalResponse),
        Arc::new(ModelLengthFinishReason),
        Arc::new(SafetyFinishReason),
        // Step 6 of 2.4: behind a final answer.
        Arc::new(GoalContinuation),
        // Last, so that a question is the last word.
        Arc::new(Clarification),
    ]
}

/// Around the steps of a subagent, whose long results go there too: nobody is asked, nothing is delegated, and it has no plan and no
/// title of its own.
pub fn subagent(results: &Results) -> Chain {
    vec![
        Arc::new(Prompt),
        Arc::new(InputSanitization),
        Arc::new(ToolOutputBudget { results: Some(results.clone()) }),
        Arc::new(ToolResultSanitization),
        Arc::new(DanglingToolCall),
        Arc::new(ToolErrorHandling),
        Arc::new(DeferredTools),
        Arc::new(LoopDetection),
        Arc::new(TokenBudget),
        Arc::new(ModelLengthFinishReason),
        Arc::new(SafetyFinishReason),
        Arc::new(DurableContext),
        Arc::new(Summarization),
        Arc::new(DynamicContext),
        Arc::new(SystemMessageCoalescing),
    ]
}
