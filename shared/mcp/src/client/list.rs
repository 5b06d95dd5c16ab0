//! All pages of `tools/list`.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use std::{io, mem};

use async_trait::async_trait;
use pudu_app::ports::{LeftOut, Listing, MAX_LEFT_OUT, RawTool, TaskProtocol};
use rmcp::model::TASKS_EXTENSION_ID;
use serde_json::{Map, Value};

use super::link::Link;
use crate::redact::Redactor;
use crate::session::Session;
use crate::stateless::{Beside, param_headers};
use crate::wire::{Failure, MAX_ANSWER_BYTES};

/// Most pages of one list (reference 2.2). More is an error: a list cut in silence hides tools.
pub(super) const MAX_PAGES: usize = 1000;
/// Most tools of one server.
pub(super) const MAX_TOOLS: usize = 10_000;
/// Most bytes of their definitions together: each page has a bound, and a thousand of them would fill any memory.
pub(super) const MAX_BYTES: usize = 2 * MAX_ANSWER_BYTES;
/// How long a list is taken as it is whose server did not say what it can do.
const UNSAID_FOR: Duration = Duration::from_secs(15);

/// The server was asked what it can do, and did not say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unsaid;

/// An open conversation, of any transport.
#[async_trait]
pub(super) trait Asked: Send {
    /// Sends one request, once, and returns its result unchanged.
    async fn ask(&mut self, method: &'static str, params: Map<String, Value>) -> Result<Value, Failure>;

    /// Whether arguments of its tools travel as headers too.
    fn has_headers(&self) -> bool;

    /// As what calls may become tasks, by what the server says that it can do.
    async fn tasks(&mut self) -> Result<Option<TaskProtocol>, Unsaid>;
}

#[async_trait]
impl Asked for Link<'_> {
    async fn ask(&mut self, method: &'static str, params: Map<String, Value>) -> Result<Value, Failure> {
        self.request(method, params, Beside::default()).await
    }

    async fn tasks(&mut self) -> Result<Option<TaskProtocol>, Unsaid> {
        let found = self.capabilities().await?;
        let protocol = if self.is_stateless() { extension } else { core };
        Ok(found.as_ref().and_then(protocol))
    }

    fn has_headers(&self) -> bool {
        self.is_stateless()
    }
}

#[async_trait]
impl Asked for Session {
    async fn ask(&mut self, method: &'static str, params: Map<String, Value>) -> Result<Value, Failure> {
        self.request(method, params, None).await
    }

    fn has_headers(&self) -> bool {
        false
    }

    async fn tasks(&mut self) -> Result<Option<TaskProtocol>, Unsaid> {
        Ok(self.capabilities().as_ref().and_then(core))
    }
}

fn extension(capabilities: &Value) -> Option<TaskProtocol> {
    let declared = capabilities.get("extensions")?.get(TASKS_EXTENSION_ID)?;
    declared.is_object().then_some(TaskProtocol::Extension)
}

/// The extension does not exist in sessions, nor core tasks without one.
fn core(capabilities: &Value) -> Option<TaskProtocol> {
    let declared = capabilities.pointer("/tasks/requests/tools/call")?;
    declared.is_object().then_some(TaskProtocol::Core)
}

/// Asks page after page until the cursor is missing, null or empty.
pub(super) async fn all(
    asked: &mut dyn Asked,
    server: &str,
    shown: &impl AsRef<Redactor>,
) -> Result<Listing, Failure> {
    let wrong = |what: String| Failure::not_mcp(shown, what);
    let mut tools = Vec::new();
    let mut bytes = 0;
    let mut left_out = Refused { server, shown: shown.as_ref(), problems: BTreeMap::new(), told: Vec::new() };
    let said = asked.tasks().await;
    // What is kept with the list holds as long as the list: a moment's trouble must not cost minutes without tasks.
    let mut ttl = said.is_err().then_some(UNSAID_FOR);
    let tasks = said.unwrap_or_default();
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
        for definition in listed {
            match tool(newest, definition) {
                Ok(tool) => {
                    bytes += size(&tool.definition);
                    tools.push(tool);
                }
                Err((name, problem)) => left_out.add(name, problem),
            }
        }
        if tools.len() > MAX_TOOLS {
            return Err(wrong(format!("offers more than {MAX_TOOLS} tools")));
        }
        if bytes > MAX_BYTES {
            return Err(wrong(format!("describes its tools in more than {MAX_BYTES} bytes")));
        }
        let cursor = match page.get_mut("nextCursor").map(Value::take) {
            None | Some(Value::Null) => return Ok(Listing { tools, ttl, tasks, left_out: left_out.told() }),
            Some(Value::String(cursor)) if cursor.is_empty() => {
                return Ok(Listing { tools, ttl, tasks, left_out: left_out.told() });
            }
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
fn tool(newest: bool, definition: Value) -> Result<RawTool, (Option<String>, &'static str)> {
    let name = definition.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let name = name.map(str::to_owned).ok_or((None, "it has no name"))?;
    match param_headers::problem(&definition).filter(|_| newest) {
        Some(problem) => Err((Some(name), problem)),
        None => Ok(RawTool { name, definition }),
    }
}

/// The tools that are not in the list, by what is wrong with them. It is logged at the end, a line for each: how many there
/// are is the server's choice.
struct Refused<'a> {
    server: &'a str,
    shown: &'a Redactor,
    problems: BTreeMap<&'static str, usize>,
    told: Vec<LeftOut>,
}

impl Refused<'_> {
    fn add(&mut self, name: Option<String>, reason: &'static str) {
        *self.problems.entry(reason).or_default() += 1;
        if self.told.len() < MAX_LEFT_OUT {
            self.told.push(LeftOut { tool: name.map(|name| self.shown.text(&name)), reason });
        }
    }

    fn told(&mut self) -> Vec<LeftOut> {
        mem::take(&mut self.told)
    }
}

impl Drop for Refused<'_> {
    fn drop(&mut self) {
        for (problem, tools) in &self.problems {
            tracing::warn!(server = self.server, problem, tools, "tools were left out");
        }
    }
}

/// How many bytes a value takes as JSON.
fn size(value: &Value) -> usize {
    struct Counted(usize);
    impl io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counted = Counted(0);
    // A value always has a text, and counting never fails.
    let _ = serde_json::to_writer(&mut counted, value);
    counted.0
}
