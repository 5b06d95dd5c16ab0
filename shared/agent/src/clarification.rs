//! The tool `ask_clarification` (agent reference 7.3): the run ends with a question, and the user's answer begins the next one.
//! Row 35 of the middlewares belongs to it: it tells a model when to ask, and answers in the user's place where nobody is there.

mod request;
#[cfg(test)]
mod tests;
mod texts;

use async_trait::async_trait;
use pudu_app::ports::ToolDefinition;
use pudu_domain::chat::{Message, ToolCall, ToolStatus};
use serde_json::{Value, json};

use crate::middleware::{Middleware, Request};
use crate::options::Options;
use crate::tool::{Bench, Brought, Tool};
use crate::turn::Turn;
use request::Asked;

/// The tool that asks.
pub const ASK_CLARIFICATION: &str = "ask_clarification";

/// The tool and its middleware: there is a question only where somebody can answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clarification;

#[async_trait]
impl Tool for Clarification {
    fn definition(&self) -> ToolDefinition {
        let text = |what: &str| json!({ "type": "string", "description": what });
        ToolDefinition {
            name: ASK_CLARIFICATION.to_owned(),
            description: "Asks the user, and ends this turn: the answer comes with the next message. For what you cannot find out \
                          yourself and should not guess."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "question": text("One question, with everything that the user needs to answer it."),
                    "clarification_type": {
                        "type": "string",
                        "enum": texts::KINDS.map(|(kind, _)| kind),
                        "description": "Why you ask."
                    },
                    "context": text("What makes the question necessary, in a sentence or two."),
                    "options": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Answers to choose from; another answer is possible all the same."
                    },
                    "fields": {
                        "type": "array",
                        "description": "Several values at once, asked for by a form.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "name": text("A short name without spaces."),
                                "label": text("What the user reads."),
                                "type": text("text, textarea, number, boolean, select or date."),
                                "required": {"type": "boolean"},
                                "options": {"type": "array", "items": {"type": "string"}}
                            },
                            "required": ["name"]
                        }
                    }
                },
                "required": ["question", "clarification_type"]
            }),
            server: None,
        }
    }

    fn is_offered(&self, options: &Options) -> bool {
        !options.non_interactive
    }

    async fn call(&self, _bench: Bench<'_>, call: &ToolCall) -> Brought {
        let Some(asked) = Asked::read(&call.args) else {
            let text = "Nothing was asked: 'question' is missing.";
            return Brought::only(Message::tool(call, ToolStatus::Error, text));
        };
        let text = asked.text();
        let id = request::id(&call.id, &text);
        let artifact = json!({ "human_input": asked.request(&id, &call.id) });
        let message =
            Message { id, artifact: Some(artifact), ..Message::tool(call, ToolStatus::Success, text) };
        Brought { ends: true, ..Brought::only(message) }
    }
}

impl Middleware for Clarification {
    fn name(&self) -> &'static str {
        "clarification"
    }

    fn shape(&self, turn: &Turn<'_>, request: &mut Request) {
        if self.is_offered(turn.options) {
            request.system.push(texts::SECTION.to_owned());
        }
    }

    fn before_tool(&self, turn: &Turn<'_>, call: &ToolCall) -> Option<Message> {
        let asks = call.name == ASK_CLARIFICATION && !self.is_offered(turn.options);
        asks.then(|| Message::tool(call, ToolStatus::Success, texts::NOBODY))
    }
}

/// A text at `name` that says something.
fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}
