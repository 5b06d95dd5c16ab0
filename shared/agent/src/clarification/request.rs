//! A question as a model puts it, read with patience: what cannot be shown as a form is shown as a choice, what cannot be shown as a
//! choice is shown as a text. Pure.

use pudu_domain::text::first_chars;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::text;
use super::texts::KINDS;

/// Most fields of a form.
const FIELDS: usize = 16;
/// Most options of a question or a field.
const OPTIONS: usize = 24;
/// Most characters of a label, a name or a value.
const CHARS: usize = 200;
/// Most bytes of the whole request.
const BYTES: usize = 16_384;

/// A question.
#[derive(Debug, PartialEq)]
pub(super) struct Asked {
    kind: (&'static str, &'static str),
    question: String,
    context: Option<String>,
    options: Vec<Choice>,
    fields: Vec<Value>,
}

#[derive(Debug, PartialEq)]
struct Choice {
    label: String,
    value: String,
}

/// The id of the question, which is its message's: by the call, or by what is said.
pub(super) fn id(call: &str, text: &str) -> String {
    if call.is_empty() {
        let digest = hex::encode(Sha256::digest(text));
        return format!("clarification:{}", first_chars(&digest, 16));
    }
    format!("clarification:{call}")
}

impl Asked {
    /// None if nothing is asked.
    pub(super) fn read(args: &Map<String, Value>) -> Option<Self> {
        let args = Value::Object(args.clone());
        let question = text(&args, "question")?.to_owned();
        let kind = text(&args, "clarification_type").unwrap_or_default();
        let kind = KINDS.into_iter().find(|(name, _)| *name == kind).unwrap_or(("missing_info", "❓"));
        let mut asked = Self {
            kind,
            question,
            context: text(&args, "context").map(str::to_owned),
            options: choices(args.get("options")),
            fields: form(args.get("fields")).unwrap_or_default(),
        };
        // Too much of anything but the text: the text says it all.
        if asked.request("", "").to_string().len() > BYTES {
            asked.fields.clear();
            if asked.request("", "").to_string().len() > BYTES {
                asked.options.clear();
            }
        }
        Some(asked)
    }

    /// What a user reads.
    pub(super) fn text(&self) -> String {
        let (_, sign) = self.kind;
        let mut said = match &self.context {
            Some(context) => format!("{sign} {context}\n\n{}", self.question),
            None => format!("{sign} {}", self.question),
        };
        let choices = self.options.iter().enumerate();
        let lines = choices.map(|(index, choice)| format!("  {}. {}", index + 1, choice.label));
        let fields = self.fields.iter().filter_map(|field| Some(format!("  - {}", text(field, "label")?)));
        let lines: Vec<String> = lines.chain(fields).collect();
        if !lines.is_empty() {
            said = format!("{said}\n\n{}", lines.join("\n"));
        }
        said
    }

    /// What a client shows.
    pub(super) fn request(&self, id: &str, call: &str) -> Value {
        let mode = match (self.fields.is_empty(), self.options.is_empty()) {
            (false, _) => "form",
            (true, false) => "choice_with_other",
            (true, true) => "free_text",
        };
        let mut request = json!({
            "version": if mode == "form" { 2 } else { 1 },
            "kind": "human_input_request",
            "source": "ask_clarification",
            "request_id": id,
            "clarification_type": self.kind.0,
            "question": self.question,
            "input_mode": mode,
            "tool_call_id": call,
        });
        let mut put = |name: &str, value: Value| {
            if let Some(map) = request.as_object_mut() {
                map.insert(name.to_owned(), value);
            }
        };
        if let Some(context) = &self.context {
            put("context", json!(context));
        }
        match mode {
            "form" => put("fields", json!(self.fields)),
            "choice_with_other" => put("options", shown(&self.options, "option")),
            _ => {}
        }
        request
    }
}

/// Options with ids that count.
fn shown(choices: &[Choice], prefix: &str) -> Value {
    let options = choices.iter().enumerate().map(|(index, choice)| {
        json!({ "id": format!("{prefix}-{}", index + 1), "label": choice.label, "value": choice.value })
    });
    Value::Array(options.collect())
}

/// Options, each a text or an object with a label; also a list that was written as a text.
fn choices(given: Option<&Value>) -> Vec<Choice> {
    let parsed = given.and_then(Value::as_str).and_then(|text| serde_json::from_str::<Value>(text).ok());
    let items = parsed.as_ref().or(given).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let choices = items.iter().filter_map(|item| {
        let label = match item {
            Value::String(label) => label.trim().to_owned(),
            Value::Number(_) | Value::Bool(_) => item.to_string(),
            _ => text(item, "label").or_else(|| text(item, "value"))?.to_owned(),
        };
        let value = text(item, "value").unwrap_or(&label).to_owned();
        (!label.is_empty()).then(|| Choice { label: short(&label), value: short(&value) })
    });
    choices.take(OPTIONS).collect()
}

/// The fields of a form; none if they make no form.
fn form(given: Option<&Value>) -> Option<Vec<Value>> {
    let parsed = given.and_then(Value::as_str).and_then(|text| serde_json::from_str::<Value>(text).ok());
    let items = parsed.as_ref().or(given)?.as_array()?;
    if items.len() > FIELDS {
        return None;
    }
    let mut fields: Vec<Value> = Vec::with_capacity(items.len());
    for item in items {
        let name = short(text(item, "name")?);
        if fields.iter().any(|field| field.get("name").and_then(Value::as_str) == Some(&name)) {
            return None;
        }
        let options = choices(item.get("options"));
        let kind = text(item, "type").unwrap_or(if options.is_empty() { "text" } else { "select" });
        let mut field = json!({
            "name": name,
            "label": short(text(item, "label").unwrap_or(&name)),
            "type": short(kind),
            "required": item.get("required").and_then(Value::as_bool).unwrap_or(false),
        });
        if let (false, Some(map)) = (options.is_empty(), field.as_object_mut()) {
            map.insert("options".to_owned(), shown(&options, &format!("{name}-option")));
        }
        fields.push(field);
    }
    Some(fields)
}

fn short(text: &str) -> String {
    first_chars(text, CHARS).to_owned()
}
