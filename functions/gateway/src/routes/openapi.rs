//! `GET /openapi.json`: the contract, generated from the routes (OpenAPI 3.1).

use std::sync::Arc;

use axum::{Extension, Json};
use serde_json::Value;
use utoipa::OpenApi;

/// What is said once for all routes.
#[derive(OpenApi)]
#[openapi(info(title = "Pudu", description = "MCP tools and durable long-running tasks"))]
pub(super) struct Pudu;

/// The whole contract, as it is answered.
#[derive(Clone)]
pub(super) struct Described(Arc<Value>);

impl Described {
    /// The contract of these routes.
    pub(super) fn new(api: utoipa::openapi::OpenApi) -> Self {
        // A document of strings and maps always serialises.
        Self(Arc::new(serde_json::to_value(api).unwrap_or_default()))
    }
}

/// This contract.
#[utoipa::path(get, path = "/openapi.json", responses((status = OK, body = Value, description = "OpenAPI 3.1")))]
pub(super) async fn get(Extension(described): Extension<Described>) -> Json<Value> {
    Json(Value::clone(&described.0))
}
