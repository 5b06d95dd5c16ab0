//! All pages of `tools/list`.

use std::collections::HashSet;

use std::time::Duration;

use http::HeaderMap;
use pudu_app::ports::{Listing, RawTool};
use serde_json::{Map, Value};

use super::link::Link;
use crate::stateless::param_headers;
use crate::target::Target;
use crate::wire::Failure;

/// Most pages of one list (reference 2.2). More is an error: a list cut in silence hides tools.
pub(super) const MAX_PAGES: usize = 1000;
/// Most tools of one server.
pub(super) const MAX_TOOLS: usize = 10_000;

/// Asks page after page until the cursor is missing, null or empty.
pub(super) async fn all(link: &mut Link<'_>, target: &Target) -> Result<Listing, Failure> {
    let wrong = |what: String| Failure::not_mcp(target, what);
    let mut tools = Vec::new();
    let mut ttl = None;
    let mut seen = HashSet::new();
    let mut params = Map::new();
    for _ in 0..MAX_PAGES {
        let mut page = link.request("tools/list", params, HeaderMap::new()).await?;
        // The page that holds shortest decides: a list is only as fresh as its parts.
        let held = page.get("ttlMs").and_then(Value::as_u64).map(Duration::from_millis);
        ttl = ttl.into_iter().chain(held).min();
        let Some(Value::Array(listed)) = page.get_mut("tools").map(Value::take) else {
            return Err(wrong("answered 'tools/list' without a list of tools".to_owned()));
        };
        let newest = link.is_stateless();
        tools.extend(listed.into_iter().filter_map(|definition| tool(target, newest, definition)));
        if tools.len() > MAX_TOOLS {
            return Err(wrong(format!("offers more than {MAX_TOOLS} tools")));
        }
        let cursor = match page.get_mut("nextCursor").map(Value::take) {
            None | Some(Value::Null) => return Ok(Listing { tools, ttl }),
            Some(Value::String(cursor)) if cursor.is_empty() => return Ok(Listing { tools, ttl }),
            Some(Value::String(cursor)) => cursor,
            Some(_) => {
                return Err(wrong("answered 'tools/list' with a 'nextCursor' that is no text".to_owned()));
            }
        };
        if !seen.insert(cursor.clone()) {
            return Err(wrong("repeats a cursor of 'tools/list', so its list never ends".to_owned()));
        }
        params = Map::from_iter([("cursor".to_owned(), Value::String(cursor))]);
    }
    Err(wrong(format!("has more than {MAX_PAGES} pages of tools")))
}

/// A tool without a name cannot be called, nor can one in the newest revision whose marks for headers are wrong; neither
/// hides the others.
fn tool(target: &Target, newest: bool, definition: Value) -> Option<RawTool> {
    let name = definition.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let Some(name) = name.map(str::to_owned) else {
        tracing::warn!(server = target.server, "a tool without a name was left out");
        return None;
    };
    if let Some(problem) = param_headers::problem(&definition).filter(|_| newest) {
        tracing::warn!(server = target.server, problem, "a tool was left out");
        return None;
    }
    Some(RawTool { name, definition })
}
