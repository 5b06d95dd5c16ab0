//! Plan mode (agent reference 4): a list that the model writes with `write_todos`, is reminded of when it is out of sight, and
//! is held to before it ends.
//!
//! What the model last saw of the list stands in the messages: its own call, or a reminder. So a list that was changed by another
//! route is noticed by comparing, and whatever removes messages removes that knowledge with them.

mod ids;
mod items;
#[cfg(test)]
mod tests;
mod texts;
mod tool;

use async_trait::async_trait;
use pudu_domain::RunId;
use pudu_domain::chat::{Message, Speaker, ToolStatus};
use pudu_domain::state::{State, Todo, TodoStatus};
use serde::{Deserialize, Serialize};

use crate::middleware::{Aside, Flow, Middleware, Request};
use crate::turn::Turn;

pub use tool::WriteTodos;

/// The tool that writes the list.
pub const WRITE_TODOS: &str = "write_todos";
/// The name of a message that repeats the list.
pub const REMINDER: &str = "todo_reminder";
/// The name of a message that holds a model to its list.
pub const COMPLETION_REMINDER: &str = "todo_completion_reminder";
/// How often a run is held to its list.
const COMPLETION_REMINDERS: u32 = 2;

/// The middleware; it does nothing for runs without a plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct Todos;

/// What it remembers of a run.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Counters {
    /// Which run: another one begins anew.
    run: Option<RunId>,
    /// How often it was held to the list.
    reminders: u32,
    /// Whether the next call is told so.
    due: bool,
}

/// What the model can see of the list.
enum Shown<'a> {
    /// It wrote this.
    Written(Vec<Todo>),
    /// It was told so.
    Told(&'a Message),
}

#[async_trait]
impl Middleware for Todos {
    fn name(&self) -> &'static str {
        "todo"
    }

    async fn before_model(&self, turn: &mut Turn<'_>, _aside: &dyn Aside) {
        let state = turn.state();
        let todos = state.todos.as_deref().unwrap_or_default();
        if !turn.options.plan_mode || todos.is_empty() {
            return;
        }
        let text = match shown(state) {
            None => texts::lost(todos),
            Some(Shown::Written(items)) if is_same(&items, todos) => return,
            Some(Shown::Told(message)) if texts::tells(&message.content.text(), todos) => return,
            Some(_) => texts::changed(todos),
        };
        // A new id for each: one that replaced an older reminder would stand before what was said since.
        let id = format!("{REMINDER}:{}:{}", turn.run.key.id, turn.run.checkpoints);
        turn.say(Message::new(Speaker::Human, id, text).named(REMINDER).hidden());
    }

    fn shape(&self, turn: &Turn<'_>, request: &mut Request) {
        if !turn.options.plan_mode {
            return;
        }
        request.system.push(texts::SECTION.to_owned());
        let counters: Counters = self.counters(turn);
        let open = unfinished(turn.state());
        if counters.due && !open.is_empty() {
            let message = Message::new(Speaker::Human, COMPLETION_REMINDER, texts::unfinished(&open));
            request.messages.push(message.named(COMPLETION_REMINDER).hidden());
        }
    }

    fn after_model(&self, turn: &mut Turn<'_>, answer: &mut Message) -> Flow {
        let mut counters = self.counters(turn);
        let due = turn.options.plan_mode
            && answer.is_final()
            && counters.reminders < COMPLETION_REMINDERS
            && !unfinished(turn.state()).is_empty();
        if due || counters.due {
            counters.due = due;
            counters.reminders += u32::from(due);
            turn.count(self.name(), &counters);
        }
        if due { Flow::Again } else { Flow::Go }
    }
}

impl Todos {
    fn counters(self, turn: &Turn<'_>) -> Counters {
        let kept: Counters = turn.counters(self.name());
        let run = Some(turn.run.key.id.clone());
        if kept.run == run { kept } else { Counters { run, ..Counters::default() } }
    }
}

/// Whether a list that the model wrote is the one that there is.
fn is_same(written: &[Todo], todos: &[Todo]) -> bool {
    written.len() == todos.len() && written.iter().zip(todos).all(|(written, todo)| written.says_as(todo))
}

fn unfinished(state: &State) -> Vec<&Todo> {
    let todos = state.todos.iter().flatten();
    todos.filter(|todo| todo.status != TodoStatus::Completed).collect()
}

/// What the model last saw. A call that wrote nothing shows nothing.
fn shown(state: &State) -> Option<Shown<'_>> {
    let wrote = |id: &str| {
        let answer = state.messages.iter().rev().find(|message| message.tool_call_id.as_deref() == Some(id));
        answer.is_some_and(|answer| answer.status == Some(ToolStatus::Success))
    };
    state.messages.iter().rev().find_map(|message| {
        if message.name.as_deref() == Some(REMINDER) {
            return Some(Shown::Told(message));
        }
        let mut calls = message.tool_calls.iter().rev().filter(|call| call.name == WRITE_TODOS);
        let call = calls.find(|call| wrote(&call.id))?;
        Some(Shown::Written(items::read(&call.args).unwrap_or_default()))
    })
}
