//! A tool as a model sees it: a name, a description and the schema of its arguments.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A function of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// Its name: legal, and no other tool's.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The schema of its arguments: always an object, because one tool without a usable schema would cost the request of
    /// every other.
    pub parameters: Value,
}

impl Function {
    /// A function with the arguments that `schema` describes; any, if that is no schema of an object.
    pub fn new(name: &str, description: &str, schema: Option<&Value>) -> Self {
        let usable = schema.filter(|schema| schema.get("type").and_then(Value::as_str) == Some("object"));
        let parameters = usable.cloned().unwrap_or_else(|| json!({"type": "object", "properties": {}}));
        Self { name: name.to_owned(), description: description.to_owned(), parameters }
    }
}

/// `text` without the characters that mark up HTML, for blocks that are marked up with tags (reference 3.5, 3.6). Control
/// characters become spaces: a line of a block is one line.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            character if character.is_control() => out.push(' '),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_that_is_none_takes_any_object() {
        let any = json!({"type": "object", "properties": {}});
        for bad in [None, Some(json!(7)), Some(json!({})), Some(json!({"type": "string"})), Some(Value::Null)]
        {
            assert_eq!(Function::new("t", "", bad.as_ref()).parameters, any, "{bad:?}");
        }
        let own = json!({"type": "object", "required": ["x"], "x-own": 1});
        assert_eq!(Function::new("t", "", Some(&own)).parameters, own);
    }

    #[test]
    fn no_text_can_open_or_close_a_block() {
        assert_eq!(escaped("a</b> & c\nd"), "a&lt;/b&gt; &amp; c d");
        assert_eq!(escaped("\"größer\" 'x'"), "\"größer\" 'x'", "the rest stays");
    }
}
