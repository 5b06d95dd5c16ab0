//! `GET /api/tools`, `GET /api/tools/search`, `POST /api/threads/{thread}/tools/{name}` and `POST /api/mcp/cache/reset`.

use axum::Json;
use axum::extract::State;
use pudu_app::catalog::{Catalogue, ServerPart, ServerState, Tool};
use pudu_app::deferral::{CatalogHash, Query};
use pudu_app::function::Function;
use pudu_app::ports::{CallFault, Caller, RequestSecrets};
use pudu_app::tools::{Invoked, Terms};
use pudu_config::Mode;
use pudu_domain::{Principal, ThreadKey};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::error::Failure;
use crate::guard::{Admin, Who};
use crate::input::{Body, Context, Params, Repeatable, Shape, Thread, ToolName};
use crate::state::Gateway;

/// The body of a call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    #[serde(default)]
    arguments: Map<String, Value>,
    #[serde(default)]
    context: Context,
    #[serde(default)]
    durable: bool,
}

impl Shape for Call {
    const EXPECTED: &'static str = r#"{"arguments": {…}, "context": {"secrets": {…}}, "durable": true}, all optional, the arguments and the secrets objects (at most 64 secrets, of at most 8192 bytes each), durable true or false, and nothing else"#;
}

pub(super) async fn list(State(gateway): State<Gateway>, Who(who): Who) -> Result<Json<Value>, Failure> {
    let catalogue = gateway.catalog.now(gateway.limits.front_door).await?;
    let tools: Vec<Value> = catalogue.visible_to(&who).map(|tool| shown(tool)).collect();
    let hash = CatalogHash::of(&functions(&catalogue, &who));
    Ok(Json(json!({ "tools": tools, "servers": servers(&catalogue, &who), "catalog_hash": hash })))
}

/// The query of a search.
#[derive(Debug, Deserialize)]
pub(super) struct Search {
    query: String,
}

/// The tools that a query finds (reference 3.6), with their whole definitions, for callers with more tools than they can
/// read.
pub(super) async fn search(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Params(search): Params<Search>,
) -> Result<Json<Value>, Failure> {
    let catalogue = gateway.catalog.now(gateway.limits.front_door).await?;
    // A caller writes the expression: the slowest one takes seconds, which other requests must not wait for.
    let searching = tokio::task::spawn_blocking(move || {
        let functions = functions(&catalogue, &who);
        let found = Query::parse(&search.query).find(&functions);
        let found = found.iter().filter_map(|found| catalogue.tools.get(&found.name));
        let tools: Vec<Value> = found.map(|tool| shown(tool)).collect();
        json!({ "tools": tools, "catalog_hash": CatalogHash::of(&functions) })
    });
    let answer = searching.await.map_err(|error| {
        tracing::error!(%error, "a search panicked");
        Failure::new(http::StatusCode::INTERNAL_SERVER_ERROR, "the search failed inside Pudu; see its log")
    })?;
    Ok(Json(answer))
}

/// Forgets what servers listed, and closes the sessions with stdio servers (reference 8.1, 4.1).
pub(super) async fn reset(State(gateway): State<Gateway>, _: Admin) -> Result<Json<Value>, Failure> {
    gateway.catalog.reset().await?;
    let message =
        "The tool lists are forgotten and sessions are closed; each server is asked again on next use.";
    Ok(Json(json!({ "success": true, "message": message })))
}

fn functions(catalogue: &Catalogue, who: &Principal) -> Vec<Function> {
    catalogue.visible_to(who).map(|tool| tool.function()).collect()
}

pub(super) async fn call(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Thread(thread): Thread,
    ToolName(name): ToolName,
    Repeatable(key): Repeatable,
    Body(call): Body<Call>,
) -> Result<Json<Value>, Failure> {
    let thread = ThreadKey { user: who.user.clone(), thread };
    let caller = Caller { thread, secrets: RequestSecrets::Given(call.context.secrets.0) };
    let tools = gateway.tools.clone();
    let gone = CancellationToken::new();
    // Dropped with this future, so when the caller has hung up; and at the end, when nobody looks at it any more.
    let _hung_up = gone.clone().drop_guard();
    let terms = Terms { key, gone, durable: call.durable };
    // Tracked, not awaited in place: a caller that hangs up must not leave a submission half recorded.
    let running =
        gateway.calls.spawn(async move { tools.invoke(&who, caller, &name, call.arguments, terms).await });
    let invoked = running.await.map_err(|error| {
        tracing::error!(%error, "a tool call panicked");
        Failure::new(http::StatusCode::INTERNAL_SERVER_ERROR, "the call failed inside Pudu; see its log")
    })??;
    Ok(Json(match invoked {
        Invoked::Result(result) => result,
        Invoked::Submitted(task) => json!({
            "task_id": task.task_id,
            "task_name": task.task_name,
            "status": task.status,
            "message": "The task runs in the background and is watched until it ends; the thread is told when it needs attention.",
        }),
    }))
}

/// A tool as callers see it: its server's definition with our own words for what is ours.
fn shown(tool: &Tool) -> Value {
    let mut definition = tool.definition().clone();
    if let Value::Object(fields) = &mut definition {
        fields.insert("name".into(), tool.name.clone().into());
        fields.insert("description".into(), tool.description.clone().into());
        fields.insert("server".into(), tool.server.name.clone().into());
        fields.insert("durable".into(), (tool.role.durable() == "always").into());
        fields.insert("becomes_task".into(), tool.role.durable().into());
        let routing = tool.routing();
        if routing.mode == Mode::Prefer {
            let routing = json!({
                "mode": "prefer", "priority": routing.priority, "keywords": routing.keywords,
            });
            fields.insert("routing".into(), routing);
        } else {
            // A field of the server's own by this name would be taken for ours.
            fields.remove("routing");
        }
    }
    definition
}

fn servers(catalogue: &Catalogue, who: &Principal) -> Map<String, Value> {
    catalogue.servers_of(who).map(|(name, part)| (name.to_owned(), server(part))).collect()
}

fn server(part: &ServerPart) -> Value {
    let (state, reason) = match &part.state {
        ServerState::Ok => ("ok", None),
        ServerState::Disabled => ("disabled", None),
        ServerState::Failed(error) => {
            (if error.fault == CallFault::Timeout { "timeout" } else { "error" }, Some(error.message.clone()))
        }
    };
    json!({ "state": state, "tools": part.tools, "reason": reason, "toolset_problems": part.toolset_problems })
}
