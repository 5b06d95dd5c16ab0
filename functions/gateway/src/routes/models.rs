//! `GET /api/models`: which models runs may choose (agent reference 8).

use axum::Json;
use axum::extract::State;
use pudu_app::models::ShownModel;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::Failure;
use crate::guard::Who;
use crate::state::Gateway;

/// The models.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Models {
    /// The default one first.
    models: Vec<ModelRow>,
    token_usage: TokenCount,
}

/// Whether tokens are counted.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TokenCount {
    enabled: bool,
}

/// A model, without anything secret.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ModelRow {
    /// By which runs choose it.
    name: String,
    /// The provider's id of it.
    model: String,
    display_name: String,
    description: Option<String>,
    supports_thinking: bool,
    supports_reasoning_effort: bool,
}

impl From<ShownModel> for ModelRow {
    fn from(model: ShownModel) -> Self {
        Self {
            name: model.name,
            model: model.model,
            display_name: model.display_name,
            description: model.description,
            supports_thinking: model.supports_thinking,
            supports_reasoning_effort: model.supports_reasoning_effort,
        }
    }
}

/// Which models runs may choose.
#[utoipa::path(
    get,
    path = "/api/models",
    operation_id = "list_models",
    tag = "runs",
    responses((status = OK, description = "The models", body = Models), Failure)
)]
pub(super) async fn list(State(gateway): State<Gateway>, _: Who) -> Result<Json<Models>, Failure> {
    let models = gateway.configs.roster().await?.shown().into_iter().map(ModelRow::from).collect();
    Ok(Json(Models { models, token_usage: TokenCount { enabled: true } }))
}
