//! One file per endpoint group; this is the map, and what [`openapi`] describes: a route that is registered by `routes!` is in
//! both or in neither.

mod assistants;
mod audit;
mod config;
mod docs;
mod events;
mod features;
mod health;
mod keys;
mod memory;
mod models;
mod openapi;
mod operator;
mod revisions;
mod runs;
mod servers;
mod stream;
mod tasks;
mod threads;
mod tools;

use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::{Extension, Router};
use http::{Method, StatusCode, Uri};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::Failure;
use crate::guard;
use crate::input::MAX_BODY;
use crate::mcp;
use crate::state::Gateway;

/// The whole door.
pub fn router(gateway: Gateway) -> Router {
    let (router, described) = described();
    let cors = gateway.origins.layer();
    let router = router
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(gateway.clone(), guard::check))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(Extension(described))
        .with_state(gateway);
    match cors {
        Some(cors) => router.layer(cors),
        None => router,
    }
}

/// The contract: what every route takes and answers, as OpenAPI 3.1 in indented JSON.
pub fn contract() -> String {
    described().1.to_string()
}

fn described() -> (Router<Gateway>, openapi::Described) {
    let (router, described) = OpenApiRouter::with_openapi(openapi::Pudu::openapi())
        .routes(routes!(health::get))
        .routes(routes!(openapi::get))
        .routes(routes!(docs::get))
        .routes(routes!(features::get))
        .routes(routes!(mcp::post))
        .routes(routes!(keys::create, keys::list))
        .routes(routes!(keys::revoke))
        .routes(routes!(audit::list))
        .routes(routes!(config::get, config::put, config::patch))
        .routes(routes!(config::create))
        .routes(routes!(config::replace, config::remove))
        .routes(routes!(revisions::list))
        .routes(routes!(revisions::get))
        .routes(routes!(revisions::diff))
        .routes(routes!(revisions::roll_back))
        .routes(routes!(servers::list))
        .routes(routes!(servers::probe))
        .routes(routes!(tools::reset))
        .routes(routes!(operator::dead_letters))
        .routes(routes!(operator::replay))
        .routes(routes!(operator::corrupt_rows))
        .routes(routes!(tools::list))
        .routes(routes!(tools::search))
        .routes(routes!(threads::create))
        .routes(routes!(threads::search))
        .routes(routes!(threads::get, threads::patch, threads::delete))
        .routes(routes!(threads::state::get, threads::state::update))
        .routes(routes!(threads::state::at))
        .routes(routes!(threads::state::at_checkpoint))
        .routes(routes!(threads::state::history))
        .routes(routes!(threads::branches::create))
        .routes(routes!(threads::goal::get, threads::goal::put, threads::goal::delete))
        .routes(routes!(threads::compact::create))
        .routes(routes!(threads::messages::list))
        .routes(routes!(threads::messages::page))
        .routes(routes!(threads::messages::usage))
        .routes(routes!(runs::create, runs::list))
        .routes(routes!(runs::stream::create))
        .routes(routes!(runs::stream::create_anywhere))
        .routes(routes!(runs::wait::create))
        .routes(routes!(runs::wait::create_anywhere))
        .routes(routes!(runs::get))
        .routes(routes!(runs::cancel))
        .routes(routes!(runs::stream::get, runs::stream::post))
        .routes(routes!(runs::stream::join))
        .routes(routes!(runs::records::messages))
        .routes(routes!(runs::records::messages_of))
        .routes(routes!(runs::records::events))
        .routes(routes!(runs::workspace::get))
        .routes(routes!(
            runs::feedback::list,
            runs::feedback::put,
            runs::feedback::create,
            runs::feedback::remove
        ))
        .routes(routes!(runs::feedback::stats))
        .routes(routes!(runs::feedback::remove_one))
        .routes(routes!(runs::feedback::list_of))
        .routes(routes!(runs::replay::regenerate))
        .routes(routes!(runs::replay::edit))
        .routes(routes!(assistants::search))
        .routes(routes!(assistants::get))
        .routes(routes!(models::list))
        .routes(routes!(memory::get, memory::clear))
        .routes(routes!(memory::reload))
        .routes(routes!(memory::export))
        .routes(routes!(memory::import))
        .routes(routes!(memory::config))
        .routes(routes!(memory::status))
        .routes(routes!(memory::facts::create))
        .routes(routes!(memory::facts::update, memory::facts::delete))
        .routes(routes!(tools::call))
        .routes(routes!(tasks::list))
        .routes(routes!(stream::get))
        .routes(routes!(tasks::get))
        .routes(routes!(tasks::cancel))
        .routes(routes!(tasks::input))
        .routes(routes!(events::list))
        .split_for_parts();
    (router, openapi::Described::new(&described))
}

async fn unknown(uri: Uri) -> Failure {
    Failure::new(StatusCode::NOT_FOUND, format!("there is nothing at {}", uri.path()))
}

async fn wrong_method(method: Method, uri: Uri) -> Failure {
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, format!("{} does not take {method}", uri.path()))
}
