//! Arguments that travel as headers too (2026-07-28, SEP-2243): a property of a tool's input schema that is marked
//! `x-mcp-header: Name` is repeated as `Mcp-Param-Name`, so that whoever routes by it need not read the body. A server
//! compares both and refuses a call that lacks one.

use std::collections::HashSet;

use http::{HeaderMap, HeaderName, HeaderValue};
use pudu_config::MAX_HEADERS;
use serde_json::{Map, Value};

use super::header_text;

const MARK: &str = "x-mcp-header";
const PREFIX: &str = "mcp-param-";
const TOO_MANY: &str = "too many arguments have an 'x-mcp-header'";
/// Deepest schema that is looked through: it is a stranger's.
const MAX_DEPTH: usize = 64;

/// A marked property: its path from the root, its schema, its mark.
struct Marked<'a> {
    path: Vec<&'a str>,
    schema: &'a Value,
    mark: &'a Value,
}

/// The headers of a call of the tool with this definition. What is absent, null or no primitive value has none.
/// Errors: there are more of them than any server reads.
pub(crate) fn headers(definition: &Value, arguments: &Map<String, Value>) -> Result<HeaderMap, &'static str> {
    let mut headers = HeaderMap::new();
    for Marked { path, mark, .. } in marked(definition) {
        let found = path.split_first().and_then(|(first, rest)| {
            rest.iter().try_fold(arguments.get(*first)?, |value, name| value.get(name))
        });
        let text = match found {
            Some(Value::String(text)) => header_text(text),
            Some(Value::Bool(value)) => value.to_string(),
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => continue,
        };
        let name = mark.as_str().and_then(|mark| format!("{PREFIX}{mark}").parse::<HeaderName>().ok());
        if let (Some(name), Ok(value)) = (name, HeaderValue::from_str(&text)) {
            headers.try_insert(name, value).map_err(|_| TOO_MANY)?;
        }
        // Far below what the map holds, so that those of the protocol and of the config find their place in it too.
        if headers.len() > MAX_HEADERS {
            return Err(TOO_MANY);
        }
    }
    Ok(headers)
}

/// Why a tool's marks are wrong, if they are. The revision has a client leave such a tool out: it could not be called
/// as its server expects.
pub(crate) fn problem(definition: &Value) -> Option<&'static str> {
    let schema = definition.get("inputSchema")?;
    if is_marked_elsewhere(schema, true, 0) {
        return Some("'x-mcp-header' stands where no argument is");
    }
    let mut seen = HashSet::new();
    marked(definition).into_iter().find_map(|Marked { schema, mark, .. }| {
        let Some(mark) = mark.as_str() else { return Some("'x-mcp-header' is no text") };
        if mark.is_empty() || mark.parse::<HeaderName>().is_err() {
            return Some("'x-mcp-header' is no header's name");
        }
        if !seen.insert(mark.to_ascii_lowercase()) {
            return Some("two arguments have the same 'x-mcp-header'");
        }
        let kind = schema.get("type").and_then(Value::as_str);
        let primitive = matches!(kind, Some("string" | "integer" | "boolean"));
        (!primitive).then_some("an argument with 'x-mcp-header' is neither string, integer nor boolean")
    })
}

/// Every mark on a property that is reached from the root through `properties` alone.
fn marked(definition: &Value) -> Vec<Marked<'_>> {
    let mut found = Vec::new();
    if let Some(schema) = definition.get("inputSchema") {
        collect(schema, &mut Vec::new(), &mut found);
    }
    found
}

fn collect<'a>(schema: &'a Value, path: &mut Vec<&'a str>, found: &mut Vec<Marked<'a>>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    if path.len() >= MAX_DEPTH {
        return;
    }
    for (name, schema) in properties {
        path.push(name);
        if let Some(mark) = schema.get(MARK) {
            found.push(Marked { path: path.clone(), schema, mark });
        }
        collect(schema, path, found);
        path.pop();
    }
}

/// Whether a mark stands off the chain of `properties`, where it would never be sent. `on_chain`: `schema` is the root
/// or was reached through `properties` alone.
fn is_marked_elsewhere(schema: &Value, on_chain: bool, depth: usize) -> bool {
    let Some(schema) = schema.as_object() else {
        let inside = |item| is_marked_elsewhere(item, false, depth + 1);
        return depth < MAX_DEPTH && schema.as_array().is_some_and(|items| items.iter().any(inside));
    };
    let each = |schemas: &Value, on_chain| {
        let inside = |schema| is_marked_elsewhere(schema, on_chain, depth + 1);
        schemas.as_object().is_some_and(|schemas| schemas.values().any(inside))
    };
    depth < MAX_DEPTH
        && schema.iter().any(|(keyword, value)| match keyword.as_str() {
            // The root is no argument.
            MARK => !on_chain || depth == 0,
            "properties" => each(value, on_chain),
            "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties" => {
                each(value, false)
            }
            // Data and names, no schemas.
            "default" | "const" | "enum" | "examples" | "dependentRequired" => false,
            _ => is_marked_elsewhere(value, false, depth + 1),
        })
}

#[cfg(test)]
mod tests;
