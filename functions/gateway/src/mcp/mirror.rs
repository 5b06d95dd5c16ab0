//! The headers that repeat the body for whoever routes by them (2026-07-28, SEP-2243): a request whose headers say something else
//! than its body is refused, or it would be routed as one thing and served as another.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::HeaderMap;
use serde_json::{Map, Value};

use super::error::RpcError;
use super::message::Request;

const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const PARAM: &str = "mcp-param-";
const MARK: &str = "x-mcp-header";
/// Deepest schema that is looked through: it is a stranger's.
const MAX_DEPTH: usize = 64;

/// The one value of a header, if there is one.
pub(super) fn sole<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, RpcError> {
    let mut given = headers.get_all(name).iter();
    let Some(value) = given.next() else { return Ok(None) };
    if given.next().is_some() {
        return Err(RpcError::header_mismatch(format!("there is more than one header {name}")));
    }
    let text =
        value.to_str().map_err(|_| RpcError::header_mismatch(format!("the header {name} is no text")))?;
    Ok(Some(text.trim_matches([' ', '\t'])))
}

/// `Mcp-Method` and `Mcp-Name`.
pub(super) fn check(headers: &HeaderMap, request: &Request) -> Result<(), RpcError> {
    if sole(headers, METHOD)? != Some(request.method.as_str()) {
        return Err(RpcError::header_mismatch("the header Mcp-Method must be the method of the body"));
    }
    let field = match request.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return Ok(()),
    };
    // What the body lacks it is told so where it is read.
    let Some(name) = request.params.get(field).and_then(Value::as_str) else { return Ok(()) };
    match decoded(headers, NAME)? {
        Some(said) if said == name => return Ok(()),
        // FastMCP's client (4.1) leaves it out here, although the extension wants it: what is not said misleads nobody.
        None if field == "taskId" => return Ok(()),
        _ => {}
    }
    Err(RpcError::header_mismatch(format!("the header Mcp-Name must be the {field} of the body")))
}

/// `Mcp-Param-*` of a call of the tool with this definition: each argument that its schema marks, and only if it is there.
pub(super) fn check_arguments(
    headers: &HeaderMap,
    definition: &Value,
    arguments: &Map<String, Value>,
) -> Result<(), RpcError> {
    let mut marked = Vec::new();
    if let Some(schema) = definition.get("inputSchema") {
        collect(schema, &mut Vec::new(), &mut marked);
    }
    for (path, mark) in marked {
        let found = path.split_first().and_then(|(first, rest)| {
            rest.iter().try_fold(arguments.get(*first)?, |value, name| value.get(name))
        });
        let expected = match found {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Bool(value)) => Some(value.to_string()),
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => None,
        };
        if decoded(headers, &format!("{PARAM}{mark}"))? != expected {
            let place = path.join(".");
            return Err(RpcError::header_mismatch(format!(
                "the header Mcp-Param-{mark} must be the argument '{place}', and absent without it"
            )));
        }
    }
    Ok(())
}

/// A header's value, taken out of its Base64 if it came so.
fn decoded(headers: &HeaderMap, name: &str) -> Result<Option<String>, RpcError> {
    let Some(value) = sole(headers, name)? else { return Ok(None) };
    let Some(inner) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(Some(value.to_owned()));
    };
    let text = BASE64_STANDARD.decode(inner).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.map(Some)
        .ok_or_else(|| RpcError::header_mismatch(format!("the header {name} is no Base64 of a text")))
}

/// Every mark on a property that is reached from the root through `properties` alone; a mark that is no header's name marks
/// nothing.
fn collect<'a>(schema: &'a Value, path: &mut Vec<&'a str>, found: &mut Vec<(Vec<&'a str>, &'a str)>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    if path.len() >= MAX_DEPTH {
        return;
    }
    for (name, schema) in properties {
        path.push(name);
        let mark = schema.get(MARK).and_then(Value::as_str);
        let named = mark.filter(|mark| http::HeaderName::try_from(format!("{PARAM}{mark}")).is_ok());
        found.extend(named.map(|mark| (path.clone(), mark)));
        collect(schema, path, found);
        path.pop();
    }
}

#[cfg(test)]
mod tests;
