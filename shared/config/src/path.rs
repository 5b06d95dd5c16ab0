//! Where in the document something is, as text that a person finds again: `mcpServers.web.task_toolsets[0].name`.
//! The text is injective (a key that is not a plain word is quoted), because sealing binds a value to it.

use std::fmt;

use serde_json::Value;

/// A place in a JSON tree.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Path(Vec<Step>);

/// One step down.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

impl Path {
    pub(crate) fn key(&self, key: &str) -> Self {
        let mut longer = self.clone();
        longer.push(Step::Key(key.to_owned()));
        longer
    }

    pub(crate) fn index(&self, index: usize) -> Self {
        let mut longer = self.clone();
        longer.push(Step::Index(index));
        longer
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.0.push(step);
    }

    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }
}

/// Shows `act` every text in `value` with its place; `path` is that of `value`, and again afterwards.
pub(crate) fn each_text(value: &Value, path: &mut Path, act: &mut dyn FnMut(&Path, &str)) {
    match value {
        Value::String(text) => act(path, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Index(index));
                each_text(item, path, act);
                path.pop();
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                path.push(Step::Key(key.clone()));
                each_text(item, path, act);
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if is_word(key) && at == 0 => f.write_str(key)?,
                Step::Key(key) if is_word(key) => write!(f, ".{key}")?,
                // The JSON form escapes quotes and control characters.
                Step::Key(key) => write!(f, "[{}]", Value::from(key.as_str()))?,
            }
        }
        Ok(())
    }
}

fn is_word(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}
