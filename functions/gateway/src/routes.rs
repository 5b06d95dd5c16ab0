//! One file per endpoint group; this is the map, and what [`openapi`] describes: a route that is registered by `routes!` is in
//! both or in neither.

mod config;
mod events;
mod health;
mod openapi;
mod operator;
mod tasks;
mod threads;
mod tools;

use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, post};
use axum::{Extension, Router};
use http::{Method, StatusCode, Uri};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::Failure;
use crate::guard;
use crate::input::MAX_BODY;
use crate::state::Gateway;

/// The whole door.
pub fn router(gateway: Gateway) -> Router {
    let (router, described) = OpenApiRouter::with_openapi(openapi::Pudu::openapi())
        .routes(routes!(health::get))
        .routes(routes!(openapi::get))
        .route("/api/mcp/config", get(config::get).put(config::put))
        .route("/api/mcp/cache/reset", post(tools::reset))
        .route("/api/mcp/dead-letters", get(operator::dead_letters))
        .route("/api/mcp/dead-letters/replay", post(operator::replay))
        .route("/api/mcp/corrupt-rows", get(operator::corrupt_rows))
        .route("/api/tools", get(tools::list))
        .route("/api/tools/search", get(tools::search))
        .route("/api/threads/{thread}", delete(threads::delete))
        .route("/api/threads/{thread}/tools/{name}", post(tools::call))
        .route("/api/threads/{thread}/mcp-tasks", get(tasks::list))
        .route("/api/threads/{thread}/mcp-tasks/{id}", get(tasks::get))
        .route("/api/threads/{thread}/mcp-tasks/{id}/cancel", post(tasks::cancel))
        .route("/api/threads/{thread}/mcp-tasks/{id}/input", post(tasks::input))
        .route("/api/threads/{thread}/events", get(events::list))
        .split_for_parts();
    router
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(gateway.clone(), guard::check))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(Extension(openapi::Described::new(described)))
        .with_state(gateway)
}

async fn unknown(uri: Uri) -> Failure {
    Failure::new(StatusCode::NOT_FOUND, format!("there is nothing at {}", uri.path()))
}

async fn wrong_method(method: Method, uri: Uri) -> Failure {
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, format!("{} does not take {method}", uri.path()))
}
