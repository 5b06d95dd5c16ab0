//! The config: `GET`, `PUT` and `PATCH /api/mcp/config`, and one server of it: `POST /api/mcp/config/servers`, `PUT` and `DELETE
//! …/servers/{name}` (reference 8.1, 5.10, 5.11). Masked out; merged, validated whole and screened in.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use pudu_app::configs::{By, ChangeError, Current};
use pudu_app::ports::Author;
use pudu_domain::Principal;
use serde::Deserialize;
use serde_json::Value;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::{Content, Ref, RefOr, Response as Described};
use utoipa::{IntoResponses, ToSchema};

use crate::answer::{ServerEntry, Servers};
use crate::error::{Conflict, Failure, Forbidden, Missing, Stale, Unfit};
use crate::guard::Admin;
use crate::input::{Body, IfMatch, IfNoneMatch, ServerName, Shape, tagged};
use crate::state::Gateway;

/// The answer of every change: the config after it.
pub(super) struct Changed;

impl IntoResponses for Changed {
    fn responses() -> BTreeMap<String, RefOr<Described>> {
        let tag = HeaderBuilder::new().description(Some("For If-Match of the next change")).build();
        let servers = Content::new(Some(Ref::from_schema_name(Servers::name())));
        let now = Described::builder().description("The servers in force now").header("ETag", tag);
        let now = now.content("application/json", servers).build();
        [("200".to_owned(), RefOr::T(now))].into()
    }
}

/// Whether a server takes part.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"server_name": "web", "enabled": false}))]
pub(super) struct Switch {
    #[schema(min_length = 1)]
    server_name: String,
    enabled: bool,
}

impl Shape for Switch {
    const EXPECTED: &'static str = r#"{"server_name": text, "enabled": true or false}"#;
}

/// The MCP servers, disabled ones too, with every literal secret as `***`.
#[utoipa::path(
    get,
    path = "/api/mcp/config",
    operation_id = "get_config",
    tag = "config",
    params(IfNoneMatch),
    security(("bearer" = ["admin"])),
    responses(
        (status = OK, description = "The servers in force", body = Servers, headers(("ETag" = String, description = "For If-Match of a change"))),
        (status = NOT_MODIFIED, description = "They are those of If-None-Match"),
        Forbidden, Failure
    )
)]
pub(super) async fn get(
    State(gateway): State<Gateway>,
    _: Admin,
    known: IfNoneMatch,
) -> Result<Response, Failure> {
    let current = gateway.configs.current().await?;
    if known.has(&current.etag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tagged(&current.etag))]).into_response());
    }
    Ok(answer(&current))
}

/// Replaces all MCP servers.
///
/// Servers that are not sent are gone; of one that is, `***` and fields that are missing stay as they are, and null resets.
/// Without `If-Match` the last writer wins.
#[utoipa::path(
    put,
    path = "/api/mcp/config",
    operation_id = "put_config",
    tag = "config",
    params(IfMatch),
    request_body = Servers,
    security(("bearer" = ["admin"])),
    responses(Changed, Forbidden, Conflict, Unfit, Stale, Failure)
)]
pub(super) async fn put(
    State(gateway): State<Gateway>,
    Admin(who): Admin,
    over: IfMatch,
    Body(body): Body<Value>,
) -> Result<Response, Failure> {
    let author = Author::new(&who, "config.put", "every server");
    let made = gateway.configs.put(&body, by(&over, &author));
    changed(&gateway, &who, &author, made).await
}

/// Switches one MCP server on or off, and changes nothing else.
#[utoipa::path(
    patch,
    path = "/api/mcp/config",
    operation_id = "switch_server",
    tag = "config",
    params(IfMatch),
    request_body = Switch,
    security(("bearer" = ["admin"])),
    responses(Changed, Forbidden, Missing, Conflict, Unfit, Stale, Failure)
)]
pub(super) async fn patch(
    State(gateway): State<Gateway>,
    Admin(who): Admin,
    over: IfMatch,
    Body(Switch { server_name, enabled }): Body<Switch>,
) -> Result<Response, Failure> {
    if server_name.is_empty() {
        return Err(Failure::unprocessable("server_name must not be empty"));
    }
    let action = if enabled { "server.enable" } else { "server.disable" };
    let author = Author::new(&who, action, &server_name);
    let made = gateway.configs.enable_server(&server_name, enabled, by(&over, &author));
    changed(&gateway, &who, &author, made).await
}

/// Adds MCP servers, one or more, of which none may be there.
#[utoipa::path(
    post,
    path = "/api/mcp/config/servers",
    operation_id = "create_servers",
    tag = "config",
    params(IfMatch),
    request_body = Servers,
    security(("bearer" = ["admin"])),
    responses(Changed, Forbidden, Conflict, Unfit, Stale, Failure)
)]
pub(super) async fn create(
    State(gateway): State<Gateway>,
    Admin(who): Admin,
    over: IfMatch,
    Body(body): Body<Value>,
) -> Result<Response, Failure> {
    let author = Author::new(&who, "server.create", &named(&body));
    let made = gateway.configs.create(&body, by(&over, &author));
    changed(&gateway, &who, &author, made).await
}

/// Gives one MCP server another entry; the others stay as they are, whoever changes them meanwhile.
///
/// `***` and fields that are missing stay as they are, and null resets.
#[utoipa::path(
    put,
    path = "/api/mcp/config/servers/{name}",
    operation_id = "replace_server",
    tag = "config",
    params(ServerName, IfMatch),
    request_body = ServerEntry,
    security(("bearer" = ["admin"])),
    responses(Changed, Forbidden, Missing, Conflict, Unfit, Stale, Failure)
)]
pub(super) async fn replace(
    State(gateway): State<Gateway>,
    Admin(who): Admin,
    ServerName(name): ServerName,
    over: IfMatch,
    Body(body): Body<Value>,
) -> Result<Response, Failure> {
    let author = Author::new(&who, "server.replace", &name);
    let made = gateway.configs.replace_server(&name, &body, by(&over, &author));
    changed(&gateway, &who, &author, made).await
}

/// Takes one MCP server away; the others stay as they are.
#[utoipa::path(
    delete,
    path = "/api/mcp/config/servers/{name}",
    operation_id = "remove_server",
    tag = "config",
    params(ServerName, IfMatch),
    security(("bearer" = ["admin"])),
    responses(Changed, Forbidden, Missing, Conflict, Unfit, Stale, Failure)
)]
pub(super) async fn remove(
    State(gateway): State<Gateway>,
    Admin(who): Admin,
    ServerName(name): ServerName,
    over: IfMatch,
) -> Result<Response, Failure> {
    let author = Author::new(&who, "server.remove", &name);
    let made = gateway.configs.remove_server(&name, by(&over, &author));
    changed(&gateway, &who, &author, made).await
}

/// On whose behalf a change is made, and over which config.
pub(super) fn by<'a>(IfMatch(read): &'a IfMatch, author: &'a Author) -> By<'a> {
    By { read: read.as_deref(), author: Some(author) }
}

/// Makes a change between the two writes of its record; the answer is the config after it.
pub(super) async fn changed(
    gateway: &Gateway,
    who: &Principal,
    author: &Author,
    change: impl Future<Output = Result<Arc<Current>, ChangeError>> + Send,
) -> Result<Response, Failure> {
    let current = gateway.audit.change(who, &author.action, &author.target, change).await?;
    gateway.catalog.adopt(&current);
    tracing::info!(
        config.revision = current.version.number,
        servers = current.servers.len(),
        "the config was changed"
    );
    Ok(answer(&current))
}

/// Which servers a body is about, for the audit.
fn named(body: &Value) -> String {
    let servers = ["mcp_servers", "mcpServers"].iter().find_map(|key| body.get(key)?.as_object());
    servers.into_iter().flat_map(|servers| servers.keys()).map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn answer(current: &Current) -> Response {
    ([(header::ETAG, tagged(&current.etag))], Json(current.response.clone())).into_response()
}
