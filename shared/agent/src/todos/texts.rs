//! What a model is told about its list.

use pudu_domain::state::{Todo, TodoStatus};

/// The part of the system's message: when to write a list, and how.
pub(super) const SECTION: &str = "\
<todo_list_system>
You work by a plan that the user watches. Keep it with `write_todos`; each call replaces the whole list, so always send every item.

- Plan what takes three steps or more. Do anything shorter directly, without a list.
- Before you begin an item, set it to in_progress. One item is in_progress at a time, unless several really run side by side.
- As soon as an item is done, set it to completed; never save completions up for a later call.
- Completed means all of it: no error left, nothing missing. An item that you are stuck on stays in_progress, and what has to happen first becomes an item of its own.
- When you learn that an item is no longer needed, or that another one is, change the list at once.
- Give each item an `activeForm`: the words for what you are doing while it is in_progress.
- Write the list once per message.
</todo_list_system>";

/// The list is out of sight.
pub(super) fn lost(todos: &[Todo]) -> String {
    format!(
        "<system_reminder>\nYour todo list from earlier is no longer visible in the current context window, but it is still active. \
         Here is the current state:\n\n{}\n\n{CONTINUE}\n</system_reminder>",
        listed(todos)
    )
}

/// The list that is in sight is not the list.
pub(super) fn changed(todos: &[Todo]) -> String {
    format!(
        "<system_reminder>\nYour todo list was changed by someone else since you last saw it. Here is the current state:\n\n{}\n\n\
         {CONTINUE}\n</system_reminder>",
        listed(todos)
    )
}

const CONTINUE: &str = "Continue tracking and updating this todo list as you work. Call `write_todos` whenever the status of any item changes.";

/// Whether `text` is a reminder of exactly this list.
pub(super) fn tells(text: &str, todos: &[Todo]) -> bool {
    text == lost(todos) || text == changed(todos)
}

/// The model ends, and these items are not done.
pub(super) fn unfinished(todos: &[&Todo]) -> String {
    format!(
        "<system_reminder>\nYou have incomplete todo items that must be finished before giving your final response:\n\n{}\n\n\
         Please continue working on these tasks. Call `write_todos` to mark items as completed as you finish them, and only respond \
         when all items are done.\n</system_reminder>",
        listed(todos.iter().copied())
    )
}

/// One line per item, whatever stands in it.
fn listed<'a>(todos: impl IntoIterator<Item = &'a Todo>) -> String {
    let lines = todos.into_iter().map(|todo| {
        let content = todo.content.replace(char::is_control, " ");
        format!("- [{}] {content}", status(todo.status))
    });
    lines.collect::<Vec<_>>().join("\n")
}

const fn status(status: TodoStatus) -> &'static str {
    match status {
        TodoStatus::Pending => "pending",
        TodoStatus::InProgress => "in_progress",
        TodoStatus::Completed => "completed",
    }
}
