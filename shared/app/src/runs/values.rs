//! Channels as callers see them, and as they write them.

use pudu_domain::chat::Content;
use pudu_domain::goal::Goal;
use pudu_domain::state::{Oversize, State, Write, fits};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::said::{self, Said};

/// Of a message's content: what may be a picture, and large.
const PICTURES: [&str; 2] = ["image_url", "image"];

/// Most bytes of a title, which stands in the thread's row too.
pub const TITLE_BYTES: usize = 1024;

/// What cannot be written. It names the channel and never repeats what was to be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unwritable {
    /// There is no such channel.
    #[error("there is no channel '{0}' in the state")]
    Unknown(String),
    /// It does not take that.
    #[error("the channel '{0}' does not take a value of this shape")]
    Shape(String),
    /// It is longer than a row takes.
    #[error("the channel '{0}' takes at most {TITLE_BYTES} bytes")]
    Long(String),
    /// It is a plan that is too large.
    #[error("the channel 'todos' {0}")]
    Plan(#[from] Oversize),
    /// A message cannot be read.
    #[error(transparent)]
    Message(#[from] said::Unreadable),
}

/// The state as everybody is shown it: without what middlewares count, and without pictures that only a model was to see.
pub fn shown(mut state: State) -> Map<String, Value> {
    for message in state.messages.iter_mut().filter(|message| message.is_hidden()) {
        if let Content::Blocks(blocks) = &mut message.content {
            blocks.retain(|block| {
                let kind = block.get("type").and_then(Value::as_str);
                !kind.is_some_and(|kind| PICTURES.contains(&kind))
            });
        }
    }
    // A state is an object of texts and lists: it always writes.
    let mut values = match serde_json::to_value(state) {
        Ok(Value::Object(values)) => values,
        _ => Map::new(),
    };
    values.retain(|name, _| !name.starts_with("__"));
    values
}

/// Reads what is to be written, channel by channel.
pub fn writes(values: Map<String, Value>) -> Result<Vec<Write>, Unwritable> {
    let mut all = Vec::new();
    for (name, value) in values {
        let write = match name.as_str() {
            "messages" => {
                all.extend(said::read(&value)?.into_iter().map(|said| match said {
                    Said::Message(message) => Write::Message(message),
                    Said::Remove(id) => Write::RemoveMessage(id),
                    Said::RemoveAll => Write::RemoveAllMessages,
                }));
                continue;
            }
            "sandbox" => Write::Sandbox(some(value)),
            "thread_data" => Write::ThreadData(value),
            "title" => match shaped::<String>(&name, value)? {
                title if title.len() > TITLE_BYTES => return Err(Unwritable::Long(name)),
                title => Write::Title(title),
            },
            "artifacts" => Write::Artifacts(shaped(&name, value)?),
            "todos" => {
                let todos: Option<Vec<_>> = shaped(&name, value)?;
                fits(todos.as_deref().unwrap_or_default())?;
                Write::Todos(todos)
            }
            "goal" if !value.is_null() && Goal::read(&value).is_none() => {
                return Err(Unwritable::Shape(name));
            }
            "goal" => Write::Goal(some(value)),
            "uploaded_files" => Write::UploadedFiles(value),
            "viewed_images" => Write::ViewedImages(shaped(&name, value)?),
            "promoted" => Write::Promoted(shaped(&name, value)?),
            "delegations" => Write::Delegations(shaped(&name, value)?),
            "skill_context" => Write::Skills(shaped(&name, value)?),
            "summary_text" => Write::Summary(shaped(&name, value)?),
            "background_tasks" => Write::BackgroundTasks(shaped(&name, value)?),
            _ => return Err(Unwritable::Unknown(name)),
        };
        all.push(write);
    }
    Ok(all)
}

fn some(value: Value) -> Option<Value> {
    (!value.is_null()).then_some(value)
}

fn shaped<T: DeserializeOwned>(name: &str, value: Value) -> Result<T, Unwritable> {
    serde_json::from_value(value).map_err(|_| Unwritable::Shape(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use pudu_domain::chat::{Message, Speaker};
    use serde_json::json;

    use super::*;

    fn written(values: &Value) -> Result<Vec<Write>, Unwritable> {
        writes(values.as_object().unwrap().clone())
    }

    #[test]
    fn every_channel_that_is_shown_can_be_written() {
        let mut state = State::default();
        let values = json!({
            "messages": [{"type": "human", "id": "m", "content": "hi"}], "sandbox": {"sandbox_id": "s"},
            "thread_data": {"workspace_path": "/w"}, "title": "t", "artifacts": ["a"], "goal": {"objective": "o"},
            "todos": [{"content": "c", "status": "pending", "activeForm": "doing c"}], "uploaded_files": [],
            "viewed_images": {"p": {}}, "promoted": {"catalog_hash": "h", "names": ["n"]},
            "delegations": [{"id": "1", "run_id": "r", "description": "d", "subagent_type": "bash", "status": "completed"}],
            "skill_context": [{"name": "n", "path": "p", "description": "d"}], "summary_text": "s",
            "background_tasks": [{"task_id": "t", "task_name": "n", "status": "working", "updated_at": "now"}],
        });
        state.apply_all(written(&values).unwrap()).unwrap();
        assert_eq!(Value::Object(shown(state)), values);
    }

    #[test]
    fn what_no_channel_takes_is_refused_by_its_name() {
        assert_eq!(written(&json!({"nope": 1})), Err(Unwritable::Unknown("nope".into())));
        assert_eq!(written(&json!({"__counters": {}})), Err(Unwritable::Unknown("__counters".into())));
        let done = json!({"todos": [{"content": "a", "status": "done"}]});
        assert_eq!(written(&done), Err(Unwritable::Shape("todos".into())));
        assert!(matches!(written(&json!({"messages": [1]})), Err(Unwritable::Message(_))));
        for goal in [json!("x"), json!({"objective": ""}), json!({"objective": "x".repeat(4001)})] {
            assert_eq!(written(&json!({ "goal": goal })), Err(Unwritable::Shape("goal".into())));
        }
        let plan = vec![json!({"content": "ü".repeat(1000), "status": "pending"}); 100];
        assert!(matches!(written(&json!({ "todos": plan })), Err(Unwritable::Plan(Oversize::Bytes(_)))));
        let long = json!({"title": "x".repeat(TITLE_BYTES + 1)});
        assert_eq!(written(&long), Err(Unwritable::Long("title".into())));
    }

    #[test]
    fn every_message_can_be_removed_at_once() {
        let all = json!({"messages": [{"type": "remove", "id": "__remove_all__"}]});
        assert_eq!(written(&all), Ok(vec![Write::RemoveAllMessages]));
    }

    #[test]
    fn counters_and_hidden_pictures_are_nobodys() {
        let mut state = State::default();
        state.counters.insert("loop".into(), json!(1));
        let picture = || json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}});
        let blocks = || Content::Blocks(vec![json!({"type": "text", "text": "x"}), picture()]);
        state.messages.push(Message::new(Speaker::Human, "1", blocks()).hidden());
        state.messages.push(Message::new(Speaker::Human, "2", blocks()));
        let values = shown(state);
        assert!(!values.contains_key("__counters"));
        assert_eq!(values["messages"][0]["content"].as_array().unwrap().len(), 1);
        assert_eq!(values["messages"][1]["content"][1], picture());
    }
}
