//! What stands around a model call and around the tools: an ordered list, each entry in a file of its own.

mod dangling_tool_call;
mod dynamic_context;
mod finish_reason;
mod input_sanitization;
mod loop_detection;
mod system_message_coalescing;
mod terminal_response;
mod token_budget;
mod token_usage;
mod tool_error_handling;
mod tool_output_budget;
mod tool_result_sanitization;

use async_trait::async_trait;
use pudu_app::ports::ToolDefinition;
use pudu_domain::chat::{Content, Message, ToolCall};

use crate::turn::Turn;

pub use dangling_tool_call::DanglingToolCall;
pub use dynamic_context::DynamicContext;
pub(crate) use dynamic_context::is_due;
pub(crate) use finish_reason::is_cut;
pub use finish_reason::{ModelLengthFinishReason, SafetyFinishReason};
pub use input_sanitization::InputSanitization;
pub use loop_detection::LoopDetection;
pub use system_message_coalescing::SystemMessageCoalescing;
pub use terminal_response::TerminalResponse;
pub use token_budget::TokenBudget;
pub use token_usage::TokenUsage;
pub use tool_error_handling::ToolErrorHandling;
pub(crate) use tool_error_handling::failure;
pub use tool_output_budget::ToolOutputBudget;
pub use tool_result_sanitization::ToolResultSanitization;
pub(crate) use tool_result_sanitization::{FROM_SERVER, is_from_server};

/// What is sent to a model: made anew for each call from the state, and never stored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// Parts of the system's message, in order; joined with an empty line between them. The same for every call of a run, so
    /// that a provider's cache finds them.
    pub system: Vec<String>,
    /// What was said.
    pub messages: Vec<Message>,
    /// What may be called.
    pub tools: Vec<ToolDefinition>,
}

/// How a run goes on behind a model's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// As the answer says: its calls are made, or the run ends.
    Go,
    /// The model is asked once more, and the answer's calls are not made.
    Again,
    /// The run ends here.
    End,
}

/// A call of a model beside the conversation: for a summary, a title, a judgement. Its tokens are counted as a middleware's.
#[async_trait]
pub trait Aside: Send + Sync {
    /// Asks the run's model, or the one of that name, and returns the text of its answer, which is not blank and
    /// without what was thought on the way; none if there is no whole one, which is logged.
    async fn ask(&self, turn: &mut Turn<'_>, model: Option<&str>, prompt: String) -> Option<String>;
}

/// One of them. Hooks that are not overridden do nothing. What it must remember from step to step is in the state
/// ([`Turn::counters`]), never in itself.
#[async_trait]
pub trait Middleware: Send + Sync {
    /// Its name, by which its counters are kept.
    fn name(&self) -> &'static str;

    /// Before the first step of a run: in order.
    async fn before_run(&self, _turn: &mut Turn<'_>) {}

    /// Before a model call; what it writes stays. In order.
    async fn before_model(&self, _turn: &mut Turn<'_>, _aside: &dyn Aside) {}

    /// What the model is sent, and no one else sees. In order.
    fn shape(&self, _turn: &Turn<'_>, _request: &mut Request) {}

    /// After a model's answer, before it is written. In reverse order, until one does not say [`Flow::Go`].
    fn after_model(&self, _turn: &mut Turn<'_>, _answer: &mut Message) -> Flow {
        Flow::Go
    }

    /// Before a tool is called; an answer means that it is not called. In order, until one answers.
    fn before_tool(&self, _turn: &Turn<'_>, _call: &ToolCall) -> Option<Message> {
        None
    }

    /// After a tool has answered, before that is written. In reverse order.
    async fn after_tool(&self, _turn: &mut Turn<'_>, _call: &ToolCall, _answer: &mut Message) {}

    /// Before a run ends whose model wants nothing more, unless something cut it short: in order, until one does not say
    /// [`Flow::Go`]. Who says [`Flow::Again`] has said to the model why.
    async fn before_end(&self, _turn: &mut Turn<'_>, _aside: &dyn Aside) -> Flow {
        Flow::Go
    }

    /// Behind the last step of a run that ended well or was cut short: in reverse order.
    async fn after_run(&self, _turn: &mut Turn<'_>, _aside: &dyn Aside) {}
}

/// Takes the calls out of an answer, so that the run ends with it; how many there were.
pub(crate) fn without_calls(answer: &mut Message) -> usize {
    let calls = answer.tool_calls.len() + answer.invalid_tool_calls.len();
    answer.tool_calls.clear();
    answer.invalid_tool_calls.clear();
    answer.response_metadata.insert("finish_reason".to_owned(), "stop".into());
    calls
}

/// Says something more at the end of an answer.
pub(crate) fn append(answer: &mut Message, text: &str) {
    let said = !answer.content.is_blank();
    match &mut answer.content {
        Content::Text(old) if said => *old = format!("{old}\n\n{text}"),
        Content::Text(old) => text.clone_into(old),
        Content::Blocks(blocks) => blocks.push(serde_json::json!({ "type": "text", "text": text })),
    }
}
