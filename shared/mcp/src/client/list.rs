//! All pages of `tools/list`.

use std::collections::HashSet;

use std::time::Duration;

use async_trait::async_trait;
use http::HeaderMap;
use pudu_app::ports::{Listing, RawTool};
use serde_json::{Map, Value};

use super::link::Link;
use crate::redact::Redactor;
use crate::session::Session;
use crate::stateless::param_headers;
use crate::wire::Failure;

/// Most pages of one list (reference 2.2). More is an error: a list cut in silence hides tools.
pub(super) const MAX_PAGES: usize = 1000;
/// Most tools of one server.
pub(super) const MAX_TOOLS: usize = 10_000;

/// An open conversation, of any transport.
#[async_trait]
pub(super) trait Asked: Send {
    /// Sends one request, once, and returns its result unchanged.
    async fn ask(&mut self, method: &'static str, params: Map<String, Value>) -> Result<Value, Failure>;

    /// Whether arguments of its tools travel as headers too.
    fn has_headers(&self) -> bool;
}

#[async_trait]
impl Asked for Link<'_> {
    async fn ask(&mut self, method: &'static str, params: Map<String, Value>) -> Result<Value, Failure> {
        self.request(method, params, HeaderMap::new()).await
    }

    fn has_headers(&self) -> bool {
        self.is_stateless()
    }
}

#[async_trait]
impl Asked for Session {
    async fn ask(&mut self, method: &'static str, params: Map<String, Value>) -> Result<Value, Failure> {
        self.request(method, params).await
    }

    fn has_headers(&self) -> bool {
        false
    }
}

/// Asks page after page until the cursor is missing, null or empty.
pub(super) async fn all(
    asked: &mut dyn Asked,
    server: &str,
    shown: &impl AsRef<Redactor>,
) -> Result<Listing, Failure> {
    let wrong = |what: String| Failure::not_mcp(shown, what);
    let mut tools = Vec::new();
    let mut ttl = None;
    let mut seen = HashSet::new();
    let mut params = Map::new();
    for _ in 0..MAX_PAGES {
        let mut page = asked.ask("tools/list", params).await?;
        // The page that holds shortest decides: a list is only as fresh as its parts.
        let held = page.get("ttlMs").and_then(Value::as_u64).map(Duration::from_millis);
        ttl = ttl.into_iter().chain(held).min();
        let Some(Value::Array(listed)) = page.get_mut("tools").map(Value::take) else {
            return Err(wrong("answered 'tools/list' without a list of tools".to_owned()));
        };
        let newest = asked.has_headers();
        tools.extend(listed.into_iter().filter_map(|definition| tool(server, newest, definition)));
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
fn tool(server: &str, newest: bool, definition: Value) -> Option<RawTool> {
    let name = definition.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let Some(name) = name.map(str::to_owned) else {
        tracing::warn!(server, "a tool without a name was left out");
        return None;
    };
    if let Some(problem) = param_headers::problem(&definition).filter(|_| newest) {
        tracing::warn!(server, problem, "a tool was left out");
        return None;
    }
    Some(RawTool { name, definition })
}
