//! `POST`, `GET /api/keys` and `DELETE /api/keys/{id}`: API keys, for administrators.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use pudu_app::keys::NewKey;
use pudu_app::ports::StoredKey;
use pudu_domain::{KeyId, KeyName, Role, Scope, UserId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::Type;
use utoipa::openapi::schema::{Array, ArrayBuilder, ObjectBuilder, SchemaType};

use crate::answer::moment;
use crate::error::{Conflict, Failure, Forbidden, Missing, Unfit};
use crate::guard::Admin;
use crate::input::{Body, KeyOfPath, Shape};
use crate::state::Gateway;

/// What a caller may do.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum CallerRole {
    /// Everything.
    Admin,
    /// Calls tools, and sees the own threads and tasks.
    #[default]
    User,
}

/// A key that is to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewApiKey {
    /// What it is called.
    #[schema(value_type = String, pattern = "^(?=.*\\S)[^\\u0000-\\u001f\\u007f-\\u009f]{1,64}$", example = "build server")]
    name: KeyName,
    /// Whose threads and tasks it opens, so that a user can have several keys: `A-Z a-z 0-9 . _ - @`, at most 64. Without it
    /// the key is a user of its own.
    #[schema(pattern = "^[A-Za-z0-9._@-]{1,64}$", example = "ann")]
    user: Option<String>,
    /// What may be done with it; `user` when absent.
    #[serde(default)]
    role: CallerRole,
    /// The names of the servers whose tools it calls; each when absent. It administers nothing then.
    #[schema(schema_with = some_servers)]
    servers: Option<BTreeSet<String>>,
}

/// At most 100 names, or nothing.
fn some_servers() -> Array {
    let name = ObjectBuilder::new().schema_type(Type::String);
    let name = name.pattern(Some("^(?=.*\\S)[^\\u0000-\\u001f\\u007f-\\u009f]{1,128}$"));
    let kinds = SchemaType::from_iter([Type::Array, Type::Null]);
    let what =
        "The names of the servers whose tools it calls; each when absent. It administers nothing then.";
    ArrayBuilder::new().schema_type(kinds).items(name).max_items(Some(100)).description(Some(what)).build()
}

impl Shape for NewApiKey {
    const EXPECTED: &'static str = r#"{"name": 1 to 64 characters, "user": text, "role": "admin" or "user", "servers": [names]}, only the name needed"#;
}

/// A key. Its text is not kept anywhere.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ApiKeyRow {
    /// Which; no secret.
    id: String,
    /// What it is called.
    name: String,
    /// Whose threads and tasks it opens.
    user: String,
    /// What may be done with it.
    role: CallerRole,
    /// The names of the servers that it reaches; null: each.
    servers: Option<BTreeSet<String>>,
    /// UTC.
    #[schema(format = DateTime)]
    created_at: String,
    /// Since when it opens nothing any more, UTC.
    #[schema(format = DateTime)]
    revoked_at: Option<String>,
}

/// A key that was made.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MadeApiKey {
    /// What is kept of it.
    key: ApiKeyRow,
    /// The key itself: what its holder shows as `Authorization: Bearer …`. It is shown here and never again.
    text: String,
}

/// Every key, the oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ApiKeyList {
    /// The revoked ones too.
    keys: Vec<ApiKeyRow>,
}

impl From<StoredKey> for ApiKeyRow {
    fn from(key: StoredKey) -> Self {
        Self {
            id: key.id.into(),
            name: key.name.into(),
            user: key.user.into(),
            role: match key.role {
                Role::Admin => CallerRole::Admin,
                Role::User => CallerRole::User,
            },
            servers: match key.scope {
                Scope::All => None,
                Scope::Only(names) => Some(names),
            },
            created_at: moment(key.created_at),
            revoked_at: key.revoked_at.map(moment),
        }
    }
}

impl NewApiKey {
    fn checked(self) -> Result<NewKey, Failure> {
        let user = self.user.as_deref().map(UserId::of_keys_for).transpose();
        let scope = self.servers.map_or(Ok(Scope::All), Scope::only);
        Ok(NewKey {
            name: self.name,
            user: user.map_err(|error| Failure::unprocessable(error.to_string()))?,
            role: match self.role {
                CallerRole::Admin => Role::Admin,
                CallerRole::User => Role::User,
            },
            scope: scope.map_err(|error| Failure::unprocessable(error.to_string()))?,
        })
    }
}

/// Makes a key, and shows its text this once.
#[utoipa::path(
    post,
    path = "/api/keys",
    operation_id = "create_key",
    tag = "operator",
    request_body = NewApiKey,
    security(("bearer" = ["admin"])),
    responses((status = CREATED, description = "The key, and its text", body = MadeApiKey), Forbidden, Conflict, Unfit, Failure)
)]
pub(super) async fn create(
    State(gateway): State<Gateway>,
    Admin(who): Admin,
    Body(wanted): Body<NewApiKey>,
) -> Result<Response, Failure> {
    let (key, text) = gateway.keys.create(&who, wanted.checked()?).await?;
    let made = MadeApiKey { key: key.into(), text: text.expose().to_owned() };
    Ok((StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], Json(made)).into_response())
}

/// Every key that was ever made, without its text.
#[utoipa::path(
    get,
    path = "/api/keys",
    operation_id = "list_keys",
    tag = "operator",
    security(("bearer" = ["admin"])),
    responses((status = OK, description = "The oldest first", body = ApiKeyList), Forbidden, Failure)
)]
pub(super) async fn list(State(gateway): State<Gateway>, _: Admin) -> Result<Json<ApiKeyList>, Failure> {
    let keys = gateway.keys.list().await?;
    Ok(Json(ApiKeyList { keys: keys.into_iter().map(ApiKeyRow::from).collect() }))
}

/// Revokes a key: within five seconds it opens nothing any more.
///
/// The same again when it was revoked already.
#[utoipa::path(
    delete,
    path = "/api/keys/{id}",
    operation_id = "revoke_key",
    tag = "operator",
    params(KeyOfPath),
    security(("bearer" = ["admin"])),
    responses((status = OK, description = "The key as it is now", body = ApiKeyRow), Forbidden, Missing, Failure)
)]
pub(super) async fn revoke(
    State(gateway): State<Gateway>,
    Admin(who): Admin,
    KeyOfPath(id): KeyOfPath,
) -> Result<Json<ApiKeyRow>, Failure> {
    let gone = || Failure::new(StatusCode::NOT_FOUND, "there is no such key");
    let id = KeyId::parse(id).map_err(|_| gone())?;
    let key = gateway.keys.revoke(&who, &id).await?.ok_or_else(gone)?;
    Ok(Json(key.into()))
}
