//! `GET /api/tools`, `GET /api/tools/search`, `POST /api/threads/{thread}/tools/{name}` and `POST /api/mcp/cache/reset`.

use axum::Json;
use axum::extract::State;
use pudu_app::catalog::Catalogue;
use pudu_app::deferral::{CatalogHash, Query};
use pudu_app::function::Function;
use pudu_app::ports::{Caller, RequestSecrets};
use pudu_app::tools::Terms;
use pudu_domain::{Principal, ThreadKey};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use utoipa::{IntoParams, ToSchema};

use crate::answer::{Called, Found, Listing, ToolEntry};
use crate::error::{Conflict, Failure, Forbidden, Missing, Unfit, Upstream};
use crate::guard::{Admin, Who};
use crate::input::{Body, Context, Params, Repeatable, Shape, Thread, ToolName};
use crate::state::Gateway;

/// The body of a call.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"arguments": {"title": "tides", "duration_seconds": 10}}))]
pub(super) struct Call {
    /// What the tool's `inputSchema` asks for.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, Value>)]
    arguments: Map<String, Value>,
    #[serde(default)]
    context: Context,
    /// Makes a durable task of it, where `becomes_task` says `on_request`.
    #[serde(default)]
    durable: bool,
}

impl Shape for Call {
    const EXPECTED: &'static str = r#"{"arguments": {…}, "context": {"secrets": {…}}, "durable": true}, all optional, the arguments and the secrets objects (at most 64 secrets, of at most 8192 bytes each), durable true or false, and nothing else"#;
}

/// Which part of the catalogue.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only this server's; all when absent.
    server: Option<String>,
}

impl Which {
    fn has(&self, server: &str) -> bool {
        self.server.as_deref().is_none_or(|only| only == server)
    }
}

/// Every tool by its visible name, and every server's state.
///
/// Those of the servers that the caller may use; `catalog_hash` is of all of them.
#[utoipa::path(
    get,
    path = "/api/tools",
    operation_id = "list_tools",
    tag = "tools",
    params(Which),
    responses((status = OK, description = "The catalogue", body = Listing), Unfit, Failure)
)]
pub(super) async fn list(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Params(which): Params<Which>,
) -> Result<Json<Listing>, Failure> {
    let catalogue = gateway.catalog.now(gateway.limits.front_door).await?;
    let tools = catalogue.visible_to(&who).filter(|tool| which.has(&tool.server.name));
    let servers = catalogue.servers_of(&who).filter(|(name, _)| which.has(name));
    Ok(Json(Listing {
        tools: tools.map(|tool| ToolEntry::from(&**tool)).collect(),
        servers: servers.map(|(name, part)| (name.to_owned(), part.into())).collect(),
        catalog_hash: CatalogHash::of(&functions(&catalogue, &who)),
    }))
}

/// The query of a search (reference 3.6).
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Search {
    /// `select:a,b` by name; `+part words` with `part` in the name, most hits of `words` first; else a regular expression,
    /// names before descriptions, at most 5.
    #[param(example = "report")]
    query: String,
}

/// The tools that a query finds, whole.
///
/// For callers with more tools than they can read.
#[utoipa::path(
    get,
    path = "/api/tools/search",
    operation_id = "search_tools",
    tag = "tools",
    params(Search),
    responses((status = OK, description = "The best first", body = Found), Unfit, Failure)
)]
pub(super) async fn search(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Params(search): Params<Search>,
) -> Result<Json<Found>, Failure> {
    let catalogue = gateway.catalog.now(gateway.limits.front_door).await?;
    // A caller writes the expression: the slowest one takes seconds, which other requests must not wait for.
    let searching = tokio::task::spawn_blocking(move || {
        let functions = functions(&catalogue, &who);
        let found = Query::parse(&search.query).find(&functions);
        let found = found.iter().filter_map(|found| catalogue.tools.get(&found.name));
        let tools = found.map(|tool| ToolEntry::from(&**tool)).collect();
        Found { tools, catalog_hash: CatalogHash::of(&functions) }
    });
    let answer = searching.await.map_err(|error| {
        tracing::error!(%error, "a search panicked");
        Failure::new(http::StatusCode::INTERNAL_SERVER_ERROR, "the search failed inside Pudu; see its log")
    })?;
    Ok(Json(answer))
}

/// That the tool lists are forgotten.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Forgotten {
    /// `true`.
    success: bool,
    /// For people.
    message: &'static str,
}

/// Forgets what servers listed, and closes the sessions with stdio servers.
#[utoipa::path(
    post,
    path = "/api/mcp/cache/reset",
    operation_id = "reset_cache",
    tag = "operator",
    security(("bearer" = ["admin"])),
    responses((status = OK, description = "Each server is asked again on next use", body = Forgotten), Forbidden, Failure)
)]
pub(super) async fn reset(
    State(gateway): State<Gateway>,
    Admin(who): Admin,
) -> Result<Json<Forgotten>, Failure> {
    gateway.audit.change(&who, "cache.reset", "every list and session", gateway.catalog.reset()).await?;
    let message =
        "The tool lists are forgotten and sessions are closed; each server is asked again on next use.";
    Ok(Json(Forgotten { success: true, message }))
}

fn functions(catalogue: &Catalogue, who: &Principal) -> Vec<Function> {
    catalogue.visible_to(who).map(|tool| tool.function()).collect()
}

/// Calls a tool.
///
/// Its result, or the id of a durable task. With an `Idempotency-Key` a repeated submission is the same task.
#[utoipa::path(
    post,
    path = "/api/threads/{thread}/tools/{name}",
    operation_id = "call_tool",
    tag = "tools",
    params(Thread, ToolName, Repeatable),
    request_body = Call,
    responses(
        (status = OK, description = "The server's result, or the task that the call became", body = Called),
        Forbidden, Missing, Conflict, Unfit, Upstream, Failure
    )
)]
pub(super) async fn call(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Thread(thread): Thread,
    ToolName(name): ToolName,
    Repeatable(key): Repeatable,
    Body(call): Body<Call>,
) -> Result<Json<Called>, Failure> {
    let thread = ThreadKey { user: who.user.clone(), thread };
    let caller =
        Caller { secrets: RequestSecrets::Given(call.context.secrets.0), ..Caller::of(thread.clone()) };
    let tools = gateway.tools.clone();
    let gone = CancellationToken::new();
    // Dropped with this future, so when the caller has hung up; and at the end, when nobody looks at it any more.
    let _hung_up = gone.clone().drop_guard();
    let terms = Terms { key, gone, durable: call.durable, plain: false, ..Terms::default() };
    // Tracked, not awaited in place: a caller that hangs up must not leave a submission half recorded.
    let running =
        gateway.calls.spawn(async move { tools.invoke(&who, caller, &name, call.arguments, terms).await });
    let invoked = running.await.map_err(|error| {
        tracing::error!(%error, "a tool call panicked");
        Failure::new(http::StatusCode::INTERNAL_SERVER_ERROR, "the call failed inside Pudu; see its log")
    })??;
    gateway.streams.changed(&thread);
    Ok(Json(invoked.into()))
}
