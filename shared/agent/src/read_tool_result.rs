//! The tool `read_tool_result`: a part of a result that was too long to be shown ([`crate::middleware::ToolOutputBudget`]). It reads
//! results of its own conversation only, whoever made the call: the run, one before it, or a subagent.

use async_trait::async_trait;
use pudu_app::chain::Chain;
use pudu_app::ports::ToolDefinition;
use pudu_app::runs::results::Results;
use pudu_domain::RunSpec;
use pudu_domain::chat::{Message, ToolCall, ToolStatus};
use serde_json::{Value, json};

use crate::middleware::failure;
use crate::options::Options;
use crate::tool::{Bench, Brought, Tool};

/// The tool's name.
pub const READ_TOOL_RESULT: &str = "read_tool_result";
/// Most characters of one answer.
pub const MOST_CHARS: usize = 16_000;
/// Characters of an answer, if it is not said how many.
const CHARS: usize = 8000;

/// The tool.
#[derive(Clone)]
pub struct ReadToolResult(pub Results);

/// Whether a run has the tool. A subagent with tools by name has it too: without it, what its tools bring would be out of its reach.
pub fn is_had(spec: &RunSpec) -> bool {
    let without = |name: &String| name == READ_TOOL_RESULT;
    !spec.subagent.as_ref().is_some_and(|subagent| subagent.without.iter().any(without))
}

#[async_trait]
impl Tool for ReadToolResult {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: READ_TOOL_RESULT.to_owned(),
            description: "Reads a part of a tool's result that was too long to be shown and was saved. Where it was saved stands in \
                          the place of the result. Not for anything else."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "result": {"type": "string", "description": "What the result was saved as: 64 hexadecimal digits."},
                    "offset": {
                        "type": "integer",
                        "minimum": 0,
                        "description": "The first character of the part. 0, the beginning, if it is left out."
                    },
                    "limit": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MOST_CHARS,
                        "description": format!("How many characters. {CHARS} if it is left out.")
                    }
                },
                "required": ["result"]
            }),
            server: None,
        }
    }

    fn is_offered(&self, _options: &Options) -> bool {
        true
    }

    async fn call(&self, bench: Bench<'_>, call: &ToolCall) -> Brought {
        let (name, offset, limit) = match read(call) {
            Ok(wanted) => wanted,
            Err(why) => return Brought::only(failure(call, "InvalidArguments", &why)),
        };
        let part = match self.0.part(&bench.run.key.thread, name, offset, limit).await {
            Ok(Some(part)) => part,
            Ok(None) => {
                let why =
                    "this conversation has no result by that name; copy the name from where it was told";
                return Brought::only(failure(call, "UnknownResult", why));
            }
            Err(error) => {
                tracing::warn!(run.id = %bench.run.key.id, error = %Chain(&error), "a saved result could not be read");
                return Brought::only(failure(
                    call,
                    "Unavailable",
                    "saved results cannot be read at the moment; try again",
                ));
            }
        };
        let chars = part.chars;
        if offset >= chars {
            let why = format!("offset {offset} is behind its end; it has {chars} characters");
            return Brought::only(failure(call, "InvalidArguments", &why));
        }
        let end = offset.saturating_add(limit).min(chars);
        let more = if end < chars {
            format!("; the next part is at offset {end}")
        } else {
            "; that is its end".to_owned()
        };
        let text = format!("[Characters {offset} to {end} of {chars}{more}.]\n\n{}", part.text);
        Brought::only(Message::tool(call, ToolStatus::Success, text))
    }
}

/// Result, offset and limit. Errors: what is wrong with them, as a sentence for the model.
fn read(call: &ToolCall) -> Result<(&str, usize, usize), String> {
    let name = call.args.get("result").and_then(Value::as_str).map(str::trim).filter(|name| !name.is_empty());
    let name = name.ok_or("'result' is missing; it is what the result was saved as")?;
    let number = |field: &str, least: usize, usual: usize| match call.args.get(field) {
        None | Some(Value::Null) => Ok(usual),
        Some(given) => {
            let number = given.as_u64().and_then(|number| usize::try_from(number).ok());
            number
                .filter(|number| *number >= least)
                .ok_or(format!("'{field}' must be a whole number, {least} or more"))
        }
    };
    Ok((name, number("offset", 0, 0)?, number("limit", 1, CHARS)?.min(MOST_CHARS)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pudu_app::ports::Blobs;
    use pudu_domain::ThreadId;
    use pudu_domain::state::State;
    use pudu_testkit::FakeBlobs;

    use super::*;
    use crate::fixture::{World, call};

    async fn asked(tool: &ReadToolResult, world: &World, args: &Value) -> (Option<ToolStatus>, String) {
        let state = State::default();
        let brought = tool.call(world.bench(&state), &call("c", READ_TOOL_RESULT, args)).await;
        (brought.message.status, brought.message.content.text())
    }

    #[tokio::test]
    async fn a_result_is_read_from_its_beginning_to_its_end_in_parts() {
        let (world, blobs) = (World::new(&json!({})), FakeBlobs::default());
        let tool = ReadToolResult(Results::new(Arc::new(blobs)));
        let text: String =
            ('a'..='z').cycle().take(30_000).map(|c| if c == 'x' { '中' } else { c }).collect();
        let name = tool.0.keep(&world.run.key.thread, &text).await.unwrap();
        let (mut whole, mut offset) = (String::new(), 0);
        loop {
            let (status, part) =
                asked(&tool, &world, &json!({"result": name, "offset": offset, "limit": 99_999})).await;
            assert_eq!(status, Some(ToolStatus::Success));
            let (head, part) = part.split_once("\n\n").unwrap();
            assert!(part.chars().count() <= MOST_CHARS);
            whole.push_str(part);
            offset = whole.chars().count();
            if head.contains("that is its end") {
                break;
            }
            assert!(head.contains(&format!("the next part is at offset {offset}")), "{head}");
        }
        assert_eq!(whole, text);
        let (_, usual) = asked(&tool, &world, &json!({"result": name})).await;
        assert!(usual.starts_with("[Characters 0 to 8000 of 30000;"), "{usual}");
    }

    #[tokio::test]
    async fn what_is_no_result_of_the_conversation_is_not_read() {
        let (world, blobs) = (World::new(&json!({})), FakeBlobs::default());
        let tool = ReadToolResult(Results::new(Arc::new(blobs.clone())));
        let thread = &world.run.key.thread;
        let other = pudu_domain::ThreadKey { thread: ThreadId::parse("other").unwrap(), ..thread.clone() };
        let foreign = tool.0.keep(&other, "canary").await.unwrap();
        let state = "ab".repeat(32);
        blobs.put(thread, &state, br#"{"snapshot": "canary"}"#.to_vec()).await.unwrap();
        for name in [foreign.as_str(), &state, "../x", "", "x"] {
            let (status, told) = asked(&tool, &world, &json!({"result": name})).await;
            assert_eq!(status, Some(ToolStatus::Error), "{name}");
            assert!(!told.contains("canary"), "{told}");
        }
        let mine = tool.0.keep(thread, "short").await.unwrap();
        for args in [
            json!({"result": mine, "offset": 5}),
            json!({"result": mine, "offset": -1}),
            json!({"result": mine, "limit": 0}),
        ] {
            assert_eq!(asked(&tool, &world, &args).await.0, Some(ToolStatus::Error), "{args}");
        }
        assert!(
            asked(&tool, &world, &json!({"result": mine})).await.1.ends_with("that is its end.]\n\nshort")
        );
    }
}
