//! The list as a model writes it, and everything that is wrong with it.

use pudu_domain::state::{Oversize, TODO_CHARS, TODOS, Todo, TodoStatus, fits};
use serde_json::{Map, Value};

/// Reads `todos`. Errors: everything that is wrong with it, each with its place. Fields that no item has are left out.
pub(super) fn read(args: &Map<String, Value>) -> Result<Vec<Todo>, Vec<String>> {
    let Some(items) = args.get("todos").and_then(Value::as_array) else {
        return Err(vec!["todos: must be a list of items".to_owned()]);
    };
    if items.len() > TODOS {
        return Err(vec![format!("todos: {}", Oversize::Items(items.len()))]);
    }
    let (mut todos, mut problems) = (Vec::new(), Vec::new());
    for (index, item) in items.iter().enumerate() {
        match Item(item).read() {
            Ok(todo) => todos.push(todo),
            Err(problem) => problems.push(format!("todos[{index}]{problem}")),
        }
    }
    problems.extend(fits(&todos).err().map(|large| format!("todos: {large}")));
    if problems.is_empty() { Ok(todos) } else { Err(problems) }
}

struct Item<'a>(&'a Value);

impl Item<'_> {
    fn read(&self) -> Result<Todo, String> {
        if !self.0.is_object() {
            return Err(": must be an object with content and status".to_owned());
        }
        let content = self.text("content")?.ok_or(".content: is missing")?;
        let active_form = self.text("activeForm")?;
        let status = match self.0.get("status").and_then(Value::as_str) {
            Some("pending") => TodoStatus::Pending,
            Some("in_progress") => TodoStatus::InProgress,
            Some("completed") => TodoStatus::Completed,
            _ => return Err(".status: must be pending, in_progress or completed".to_owned()),
        };
        Ok(Todo { active_form, ..Todo::new(content, status) })
    }

    fn text(&self, field: &str) -> Result<Option<String>, String> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => {
                Err(format!(".{field}: must not be blank"))
            }
            Some(Value::String(text)) if text.chars().count() > TODO_CHARS => {
                Err(format!(".{field}: must have at most {TODO_CHARS} characters"))
            }
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!(".{field}: must be a string")),
        }
    }
}
