//! What only the operator of this machine may ask of a running Pudu: whoever can read the key in the data folder's run
//! file. The gateway's API is screened; this is not, so it is no route of the gateway and of no function in the cloud.
//! The key is asked for also where the gateway tells no callers apart.

pub(crate) mod keys;

use std::sync::Arc;

use anyhow::Context;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use http::{StatusCode, header};
use pudu_app::audit::{Audit, AuditError};
use pudu_app::chain::Chain;
use pudu_app::configs::{ChangeError, Configs, Current};
use pudu_app::keys::Keys;
use pudu_app::ports::Author;
use pudu_config::{Document, parse_text};
use pudu_domain::{ApiKey, CredentialTag, KeyDigest, Principal, Role, Scope, UserId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What answers whoever shows the key, and says nothing else: a command asks it whether it talks to the Pudu of its folder.
pub(crate) const HELLO: &str = "/operator";
/// Where a config is imported.
pub(crate) const IMPORT: &str = "/operator/config";
/// Largest config, in bytes.
pub(crate) const MAX_CONFIG: usize = 16 * 1024 * 1024;

/// The operator's door.
#[derive(Clone)]
pub(crate) struct Operator {
    /// The config in the table.
    pub(crate) stored: Arc<Configs>,
    /// Whether that is the config in force.
    pub(crate) in_force: bool,
    /// API keys.
    pub(crate) keys: Keys,
    /// Who asks, for the records.
    pub(crate) who: Principal,
    /// What must be shown.
    pub(crate) key: KeyDigest,
}

/// What an import did, by the names of servers.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Imported {
    /// The new revision.
    pub(crate) revision: u64,
    /// Whether this process works by it.
    pub(crate) in_force: bool,
    pub(crate) added: Vec<String>,
    pub(crate) changed: Vec<String>,
    pub(crate) removed: Vec<String>,
}

pub(crate) fn router(operator: Operator) -> Router {
    Router::new()
        .route(HELLO, get(|| async { Json(json!({ "status": "ok" })) }))
        .route(IMPORT, put(import))
        .route(keys::PATH, post(keys::answer))
        .layer(from_fn_with_state(operator.clone(), check))
        .layer(DefaultBodyLimit::max(MAX_CONFIG))
        .with_state(operator)
}

impl Imported {
    /// Reads the answer of [`IMPORT`].
    pub(crate) fn read(answer: Value) -> anyhow::Result<Self> {
        serde_json::from_value(answer).context("what answered is no Pudu of this version")
    }

    fn between(before: Option<&Current>, after: &Current, in_force: bool) -> Self {
        let digest =
            |current: &Current, name: &str| current.servers.get(name).map(|server| server.digest.clone());
        let old = |name: &str| before.and_then(|before| digest(before, name));
        let names = |wanted: &dyn Fn(&str) -> bool| -> Vec<String> {
            after.servers.keys().filter(|name| wanted(name)).cloned().collect()
        };
        let gone = before.into_iter().flat_map(|before| before.servers.keys());
        Self {
            revision: after.version.number,
            in_force,
            added: names(&|name| old(name).is_none()),
            changed: names(&|name| old(name).is_some() && old(name) != digest(after, name)),
            removed: gone.filter(|name| !after.servers.contains_key(*name)).cloned().collect(),
        }
    }
}

/// Whoever holds this machine, as the user `user`.
pub(crate) fn principal(user: UserId) -> Principal {
    // No id of a key, so it says in the records that no key was used.
    let tag = CredentialTag::parse("operator").unwrap_or_else(|_| CredentialTag::of_user(&user));
    Principal { user, role: Role::Admin, tag, scope: Scope::All }
}

/// Lets only the key pass, always: a page in a browser can send a PUT, and cannot know it.
async fn check(State(operator): State<Operator>, request: Request, next: Next) -> Response {
    let shown = request.headers().get(header::AUTHORIZATION).and_then(|shown| shown.to_str().ok());
    let key = shown.and_then(|shown| ApiKey::parse(shown.strip_prefix("Bearer ")?));
    if key.is_some_and(|key| key.digest() == operator.key) {
        return next.run(request).await;
    }
    refused(StatusCode::UNAUTHORIZED, "show the key of this process's data folder")
}

async fn import(State(operator): State<Operator>, body: Bytes) -> Response {
    let document = parse_text(&body).map_err(|problem| vec![problem]).and_then(Document::parse);
    let document = match document {
        Ok(document) => document,
        Err(problems) => {
            return refused(StatusCode::UNPROCESSABLE_ENTITY, &ChangeError::Problems(problems).to_string());
        }
    };
    let Operator { stored, in_force, keys, who, .. } = operator;
    match replace(&stored, &keys.audit, &who, document).await {
        Ok(made) => Json(Imported { in_force, ..made }).into_response(),
        // The operator may see the causes.
        Err(error) => refused(StatusCode::INTERNAL_SERVER_ERROR, &Chain(&error).to_string()),
    }
}

/// Makes `document` the config, as the word of whoever holds the table, with a record of it.
pub(crate) async fn replace(
    stored: &Configs,
    audit: &Audit,
    who: &Principal,
    document: Document,
) -> Result<Imported, AuditError<ChangeError>> {
    // What cannot be read is what an import may be there to repair.
    let before = stored.current().await.ok();
    let author = Author::new(who, "config.import", "the config in the table");
    let change = stored.import(document, Some(&author));
    let after = audit.change(who, &author.action, &author.target, change).await?;
    tracing::info!(
        config.revision = after.version.number,
        servers = after.servers.len(),
        "a config was imported"
    );
    Ok(Imported::between(before.as_deref(), &after, true))
}

fn refused(status: StatusCode, detail: &str) -> Response {
    (status, Json(json!({ "detail": detail }))).into_response()
}

#[cfg(test)]
mod tests;
