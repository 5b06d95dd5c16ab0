//! The config and its history, as administrators see them: never a literal secret.

use std::collections::BTreeMap;

use pudu_app::ports::{Author, Made};
use pudu_config::{Changed, Difference};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::moment;

/// The MCP servers. The same shape is sent to change them.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it only describes: the config passes as the JSON that it is")]
#[schema(example = json!({"mcp_servers": {"web": {"type": "http", "url": "https://mcp.example/mcp", "headers": {"Authorization": "$WEB_TOKEN"}}}}))]
pub(crate) struct Servers {
    /// By name, as `extensions_config.json` has them. A literal secret is `***`; sent back, that means "as it is".
    mcp_servers: BTreeMap<String, BTreeMap<String, Value>>,
}

/// The entry of one server, as `extensions_config.json` has it.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it only describes")]
#[schema(example = json!({"type": "http", "url": "https://mcp.example/mcp", "headers": {"Authorization": "***"}}))]
pub(crate) struct ServerEntry(BTreeMap<String, Value>);

/// A page of revisions.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Revisions {
    /// The newest first.
    revisions: Vec<Revision>,
    /// `before` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next_before: Option<u64>,
}

/// When and by whom a revision was made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Revision {
    number: u64,
    /// ISO 8601, UTC.
    at: String,
    /// Null for what Pudu made by itself, and for what is older than this field.
    by: Option<By>,
    /// What was done, such as `config.put`.
    action: Option<String>,
    /// To what, such as a server's name.
    target: Option<String>,
}

/// Who, and with which credential.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct By {
    user: String,
    tag: String,
}

/// A config that once was in force.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PastConfig {
    #[serde(flatten)]
    revision: Revision,
    /// All of it, as it was stored. A literal secret is `***` or null.
    #[schema(value_type = BTreeMap<String, Value>)]
    config: Value,
}

/// What is different between two revisions.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Differences {
    /// The revision after the changes.
    pub(crate) number: u64,
    /// The one before them; 0 is the empty config before the first.
    pub(crate) against: u64,
    /// Each place that is different. The order of keys tells nothing.
    pub(crate) changes: Vec<ChangedPlace>,
}

/// One difference.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChangedPlace {
    /// Such as `mcpServers.web.headers.Authorization`.
    path: String,
    change: Kind,
    /// What was there; absent when nothing was. A literal secret is `***`, also one that was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Value>,
    /// What is there now; absent when nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Value>,
}

/// The sort of a difference.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Added,
    Removed,
    Replaced,
}

impl Revisions {
    /// A page that was asked to have `limit` of them.
    pub(crate) fn new(made: Vec<Made>, limit: usize) -> Self {
        let last = made.last().filter(|last| made.len() == limit && last.number > 1);
        Self {
            next_before: last.map(|last| last.number),
            revisions: made.into_iter().map(Revision::from).collect(),
        }
    }
}

impl From<Made> for Revision {
    fn from(Made { number, at, author }: Made) -> Self {
        let (by, action, target) = match author {
            None => (None, None, None),
            Some(Author { user, tag, action, target }) => {
                let by = By { user: user.as_str().to_owned(), tag: tag.as_str().to_owned() };
                (Some(by), Some(action), Some(target))
            }
        };
        Self { number, at: moment(at), by, action, target }
    }
}

impl PastConfig {
    pub(crate) fn new(made: Made, config: Value) -> Self {
        Self { revision: made.into(), config }
    }
}

impl From<Difference> for ChangedPlace {
    fn from(Difference { path, change, before, after }: Difference) -> Self {
        let change = match change {
            Changed::Added => Kind::Added,
            Changed::Removed => Kind::Removed,
            Changed::Replaced => Kind::Replaced,
        };
        Self { path, change, before, after }
    }
}
