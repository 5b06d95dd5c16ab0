//! `tools/list`: what the caller may use, by name, a page at a time.

use std::collections::BTreeMap;
use std::ops::Bound;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use pudu_app::catalog::{Role, Tool};
use serde_json::{Map, Value, json};

use super::error::RpcError;
use super::revision::Era;
use super::{Asked, follow, greet};

/// Most tools of a page.
const MOST: usize = 250;
/// Most bytes of a page that has more than one tool.
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// Answers `tools/list`. A cursor is the last name of the page before, so that a page goes on where the other ended whatever has
/// changed since.
pub(super) async fn tools(asked: &Asked<'_>) -> Result<Map<String, Value>, RpcError> {
    let after = cursor(asked.request.params.get("cursor"))?;
    let gateway = asked.gateway;
    let catalogue = gateway.catalog.now(gateway.limits.front_door).await?;
    let terms = asked.client.terms();
    let mut listed: BTreeMap<&str, Entry<'_>> =
        catalogue.visible_to(asked.who).map(|tool| (tool.name.as_str(), Entry::Of(tool))).collect();
    let starts_tasks = catalogue.visible_to(asked.who).any(|tool| terms.may_start_task(&tool.role));
    if starts_tasks && !asked.client.takes_tasks() {
        listed.extend(follow::definitions().map(|(name, definition)| (name, Entry::Own(definition))));
    }
    let (mut page, mut bytes, mut next, mut last) = (Vec::new(), 0, None, "");
    let from = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    for (name, entry) in listed.range::<str, _>((from, Bound::Unbounded)) {
        let shown = entry.shown(|role| !asked.client.takes_tasks() && terms.may_start_task(role));
        bytes += shown.to_string().len();
        if page.len() == MOST || (bytes > MOST_BYTES && !page.is_empty()) {
            next = Some(BASE64_URL_SAFE_NO_PAD.encode(last));
            break;
        }
        last = name;
        page.push(shown);
    }
    let mut result = greet::object(json!({ "tools": page }));
    result.extend(next.map(|next| ("nextCursor".to_owned(), next.into())));
    if asked.client.era == Era::Stateless {
        let holds = catalogue.fresh_for(asked.who, gateway.tools.settle.clock.now());
        result.extend([
            ("resultType".to_owned(), "complete".into()),
            ("ttlMs".to_owned(), u64::try_from(holds.as_millis()).unwrap_or(0).into()),
            // Another caller may use other servers.
            ("cacheScope".to_owned(), "private".into()),
        ]);
    }
    Ok(result)
}

/// What is listed.
enum Entry<'a> {
    /// A server's tool.
    Of(&'a Tool),
    /// One of ours.
    Own(Value),
}

impl Entry<'_> {
    fn shown(&self, follows: impl Fn(&Role) -> bool) -> Value {
        match self {
            Self::Of(tool) => shown(tool, follows(&tool.role)),
            Self::Own(definition) => definition.clone(),
        }
    }
}

fn cursor(given: Option<&Value>) -> Result<Option<String>, RpcError> {
    let unknown = || RpcError::invalid_params("\"cursor\" must be the nextCursor of the page before");
    match given {
        None | Some(Value::Null) => Ok(None),
        Some(cursor) => {
            let bytes = cursor
                .as_str()
                .and_then(|text| BASE64_URL_SAFE_NO_PAD.decode(text).ok())
                .ok_or_else(unknown)?;
            String::from_utf8(bytes).map(Some).map_err(|_| unknown())
        }
    }
}

/// A tool's definition by its server, unchanged but for what is ours: its name, and what it says of a durable task.
fn shown(tool: &Tool, follows: bool) -> Value {
    let mut definition = tool.definition().clone();
    let Value::Object(fields) = &mut definition else { return definition };
    fields.insert("name".into(), tool.name.clone().into());
    if !matches!(tool.role, Role::Call | Role::MayBecomeTask) {
        fields.insert("description".into(), tool.description.clone().into());
    }
    // Its call is, or may be, answered with a task of ours and how to follow it, and not with what its server answers.
    if follows || matches!(tool.role, Role::Submit(_)) {
        fields.shift_remove("outputSchema");
    }
    // How its server offers tasks to us.
    fields.shift_remove("execution");
    definition
}
