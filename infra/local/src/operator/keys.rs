//! `pudu keys`: what is asked and answered, over HTTP by a running Pudu or in the command's own process.

use std::collections::BTreeSet;

use anyhow::Context;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use pudu_app::chain::Chain;
use pudu_app::keys::{Keys, NewKey};
use pudu_app::ports::StoredKey;
use pudu_domain::{KeyId, KeyName, Principal, Role, Scope, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::{Operator, refused};

/// Where it is asked.
pub(crate) const PATH: &str = "/operator/keys";

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Asked {
    /// A key is made.
    Create {
        name: KeyName,
        /// A name, or a whole user id such as `local:default`; a user of its own when absent.
        user: Option<String>,
        role: Role,
        /// Each when absent.
        servers: Option<BTreeSet<String>>,
    },
    /// All are shown.
    List,
    /// One is revoked.
    Revoke { id: KeyId },
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// A key, and its text, this once.
    Created { key: Kept, text: String },
    /// The oldest first.
    Listed(Vec<Kept>),
    /// The key as it is then; none: there is no such key.
    Revoked(Option<Kept>),
}

/// What is kept of a key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) id: KeyId,
    pub(crate) name: KeyName,
    pub(crate) user: UserId,
    pub(crate) role: Role,
    /// None: each.
    pub(crate) servers: Option<BTreeSet<String>>,
    pub(crate) created_at: Timestamp,
    pub(crate) revoked_at: Option<Timestamp>,
}

impl From<StoredKey> for Kept {
    fn from(key: StoredKey) -> Self {
        let StoredKey { id, name, user, role, scope, created_at, revoked_at, digest: _ } = key;
        let servers = match scope {
            Scope::All => None,
            Scope::Only(names) => Some(names),
        };
        Self { id, name, user, role, servers, created_at, revoked_at }
    }
}

/// Does it.
pub(crate) async fn serve(keys: &Keys, who: &Principal, asked: Asked) -> anyhow::Result<Reply> {
    Ok(match asked {
        Asked::Create { name, user, role, servers } => {
            let user = user.as_deref().map(user_of).transpose()?;
            let scope = servers.map_or(Ok(Scope::All), Scope::only)?;
            let (key, text) = keys.create(who, NewKey { name, user, role, scope }).await?;
            Reply::Created { key: key.into(), text: text.expose().to_owned() }
        }
        Asked::List => Reply::Listed(keys.list().await?.into_iter().map(Kept::from).collect()),
        Asked::Revoke { id } => Reply::Revoked(keys.revoke(who, &id).await?.map(Kept::from)),
    })
}

/// A name of a key's user, or a whole id: whoever holds the table may name anybody, who asks over the API may not.
fn user_of(text: &str) -> anyhow::Result<UserId> {
    let user = if text.contains(':') { UserId::parse(text) } else { UserId::of_keys_for(text) };
    user.context("--user is neither a name nor a user's id")
}

pub(super) async fn answer(State(operator): State<Operator>, body: Bytes) -> Response {
    let Ok(asked) = serde_json::from_slice(&body) else {
        return refused(
            StatusCode::UNPROCESSABLE_ENTITY,
            "this Pudu does not know what is asked; it is of another version",
        );
    };
    match serve(&operator.keys, &operator.who, asked).await {
        Ok(reply) => Json(reply).into_response(),
        // The operator may see the causes.
        Err(error) => refused(StatusCode::INTERNAL_SERVER_ERROR, &Chain(error.as_ref()).to_string()),
    }
}
