//! What a step of a run shows beside its state: what it wrote, by its node, as a task that has ended, the task that comes next, and the
//! checkpoint (agent reference 2.6: `updates`, `tasks`, `checkpoints`, `debug`).
//!
//! All of it follows from two states, the one before the step and the one after it, so nothing is stored for it, and whoever joins
//! later hears the same.

use std::collections::{BTreeMap, BTreeSet};

use pudu_domain::chat::Speaker;
use pudu_domain::conversation::Head;
use pudu_domain::state::State;
use serde_json::{Map, Value, json};

use super::{Checkpointed, values};

/// The step of a model, with what stands around it.
const MODEL: &str = "model";
/// A round of tools.
const TOOLS: &str = "tools";
/// Everything else: a title, a summary.
const MIDDLEWARE: &str = "middleware";
/// The channel of what was said.
const MESSAGES: &str = "messages";

/// The state that was told of a checkpoint.
pub(super) struct Point {
    /// Which checkpoint.
    pub(super) number: u32,
    /// Whose step comes after it, as far as the state says.
    pub(super) next: Option<&'static str>,
    /// The state as it is shown.
    pub(super) values: Map<String, Value>,
}

impl Point {
    /// The state as of that checkpoint.
    pub(super) fn new(number: u32, state: State) -> Self {
        // Calls that are open when a run begins are not its own, and nobody makes them.
        let next = next(&state).map(|node| if number == 0 { MODEL } else { node });
        Self { number, next, values: values::shown(state) }
    }
}

/// What a step did.
pub(super) struct Done {
    /// Whose step.
    pub(super) node: &'static str,
    /// What it wrote, by channel.
    pub(super) wrote: Map<String, Value>,
}

impl Done {
    /// What lies between two states as they are shown.
    pub(super) fn between(before: &Map<String, Value>, after: &Map<String, Value>) -> Self {
        let mut wrote = Map::new();
        for (channel, value) in after {
            if channel == MESSAGES {
                let said = said(before.get(MESSAGES), value);
                if !said.is_empty() {
                    wrote.insert(channel.clone(), Value::Array(said));
                }
            } else if before.get(channel) != Some(value) {
                wrote.insert(channel.clone(), value.clone());
            }
        }
        let gone = before.keys().filter(|channel| !after.contains_key(*channel));
        wrote.extend(gone.map(|channel| (channel.clone(), Value::Null)));
        Self { node: node(&wrote), wrote }
    }

    /// As a frame `updates`; none if it wrote nothing that anybody is shown.
    pub(super) fn update(&self) -> Option<Value> {
        (!self.wrote.is_empty()).then(|| json!({ self.node: self.wrote }))
    }

    /// As a frame `tasks`: the task of that name that came after `before` has ended.
    pub(super) fn result(&self, before: &Head, name: &str) -> Value {
        json!({ "id": before.task(name), "name": name, "error": null, "interrupts": [], "result": self.wrote })
    }
}

/// What comes after a state, as far as the state says: the calls that are open, or the model where somebody else spoke last.
fn next(state: &State) -> Option<&'static str> {
    if !state.open_calls().is_empty() {
        return Some(TOOLS);
    }
    let last = state.messages.last()?;
    // A call that could not be read is answered by asking once more.
    (last.speaker != Speaker::Ai || !last.invalid_tool_calls.is_empty()).then_some(MODEL)
}

/// As a frame `tasks`: the task that comes after the checkpoint begins.
pub(super) fn begins(head: &Head, node: &str, values: &Map<String, Value>) -> Value {
    json!({ "id": head.task(node), "name": node, "input": values, "triggers": [] })
}

/// As a frame `checkpoints`.
pub(super) fn checkpoint(
    thread: &str,
    of: &Checkpointed,
    next: Option<&'static str>,
    values: &Map<String, Value>,
) -> Value {
    let config = |head: &Head| json!({ "configurable": { "thread_id": thread, "checkpoint_ns": "", "checkpoint_id": head.id() } });
    let tasks: Vec<Value> =
        next.iter().map(|node| json!({ "id": of.head.task(node), "name": node, "interrupts": [] })).collect();
    json!({
        "config": config(&of.head),
        "parent_config": of.parent.as_ref().map(config),
        "values": values,
        "metadata": { "source": of.source, "step": of.step, "run_id": of.head.run.as_str() },
        "next": next.as_slice(),
        "tasks": tasks,
    })
}

/// The same as a frame `debug`: which kind of thing it is, of which step.
pub(super) fn debug(kind: &str, step: u32, at: &str, payload: &Value) -> Value {
    json!({ "step": step, "timestamp": at, "type": kind, "payload": payload })
}

/// Messages that are new or other than before, and those that went.
fn said(before: Option<&Value>, after: &Value) -> Vec<Value> {
    let list = |messages: Option<&Value>| messages.and_then(Value::as_array).cloned().unwrap_or_default();
    let id = |message: &Value| message.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (before, after) = (list(before), list(Some(after)));
    let old: BTreeMap<String, &Value> = before.iter().map(|message| (id(message), message)).collect();
    let left: BTreeSet<String> = after.iter().map(id).collect();
    let gone = before.iter().map(id).filter(|id| !left.contains(id));
    let gone = gone.map(|id| json!({ "type": "remove", "id": id, "content": "" }));
    let new = after.iter().filter(|message| old.get(&id(message)) != Some(message)).cloned();
    gone.chain(new).collect()
}

/// Whose step wrote that.
fn node(wrote: &Map<String, Value>) -> &'static str {
    let messages = wrote.get(MESSAGES).and_then(Value::as_array).into_iter().flatten();
    let mut node = if wrote.contains_key("delegations") { TOOLS } else { MIDDLEWARE };
    for message in messages {
        match message.get("type").and_then(Value::as_str) {
            Some("ai") => return MODEL,
            Some("tool") => node = TOOLS,
            _ => {}
        }
    }
    node
}

#[cfg(test)]
mod tests {
    use pudu_domain::RunId;
    use pudu_domain::chat::{Message, ToolCall, ToolStatus};
    use pudu_domain::state::Write;

    use super::*;

    fn human(id: &str) -> Message {
        Message::new(Speaker::Human, id, id)
    }

    fn calling() -> Message {
        Message { tool_calls: vec![call()], ..Message::new(Speaker::Ai, "a", "") }
    }

    fn call() -> ToolCall {
        ToolCall::new("c", "ls", Map::new())
    }

    fn state(messages: &[Message]) -> State {
        State { messages: messages.to_vec(), ..State::default() }
    }

    fn with(before: &State, writes: Vec<Write>) -> State {
        let mut after = before.clone();
        after.apply_all(writes).unwrap();
        after
    }

    fn update(before: &State, writes: Vec<Write>) -> Option<Value> {
        Done::between(&values::shown(before.clone()), &values::shown(with(before, writes))).update()
    }

    #[test]
    fn a_step_is_told_by_its_node_with_what_it_wrote_alone() {
        let said = state(&[human("h")]);
        let answered = update(&said, vec![Write::message(calling())]).unwrap();
        assert_eq!(answered["model"]["messages"], json!([calling()]));
        assert_eq!(answered.as_object().unwrap().len(), 1);
        let asked = state(&[human("h"), calling()]);
        let result = Message::tool(&call(), ToolStatus::Success, "x");
        let writes = vec![Write::message(result.clone()), Write::Artifacts(vec!["f".into()])];
        let expected = json!({ "tools": { "messages": [result], "artifacts": ["f"] } });
        assert_eq!(update(&asked, writes), Some(expected));
        let named = update(&said, vec![Write::Title("Deer".into())]);
        assert_eq!(named, Some(json!({ "middleware": { "title": "Deer" } })));
    }

    #[test]
    fn what_went_is_told_and_what_only_this_house_counts_is_not() {
        let before = state(&[human("1"), human("2")]);
        let writes =
            vec![Write::RemoveMessage("1".into()), Write::message(Message::new(Speaker::Ai, "3", "x"))];
        let told = update(&before, writes).unwrap();
        assert_eq!(told["model"]["messages"][0], json!({ "type": "remove", "id": "1", "content": "" }));
        assert_eq!(told["model"]["messages"][1]["id"], "3");
        let counts = vec![Write::Counters { name: "loop".into(), value: json!(1) }];
        assert_eq!(update(&before, counts), None);
    }

    #[test]
    fn what_comes_next_follows_from_who_spoke_last() {
        assert_eq!(next(&State::default()), None);
        assert_eq!(next(&state(&[human("h")])), Some(MODEL));
        assert_eq!(next(&state(&[human("h"), calling()])), Some(TOOLS));
        let result = Message::tool(&call(), ToolStatus::Success, "x");
        assert_eq!(next(&state(&[human("h"), calling(), result])), Some(MODEL));
        assert_eq!(next(&state(&[human("h"), Message::new(Speaker::Ai, "b", "done")])), None);
    }

    #[test]
    fn a_task_has_one_id_at_its_beginning_and_at_its_end() {
        let head = Head { run: RunId::parse("r").unwrap(), number: 3 };
        let before = state(&[human("h")]);
        let begun = begins(&head, MODEL, &Map::new());
        let after = with(&before, vec![Write::message(calling())]);
        let done = Done::between(&values::shown(before), &values::shown(after));
        assert_eq!(begun["id"], done.result(&head, done.node)["id"]);
        assert_eq!(begun["id"], "r:3:model");
    }
}
