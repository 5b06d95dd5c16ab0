//! `/api/assistants`: what there is to run, as the official clients look for it (agent reference 2.2).

use axum::Json;
use axum::extract::FromRequestParts;
use http::StatusCode;
use http::request::Parts;
use pudu_app::runs::configured::{LEAD, agent};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use crate::error::{Failure, Missing, Unfit};
use crate::guard::Who;
use crate::input::{Agents, Body, Shape, number, param, params};
use crate::state::Gateway;

/// When the assistant that is built in was made, as far as anybody asks.
const MADE: &str = "2026-01-01T00:00:00Z";

/// An assistant.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Assistant {
    #[serde(rename = "assistant_id")]
    id: String,
    graph_id: String,
    name: String,
    description: Option<String>,
    #[schema(value_type = Object)]
    config: Value,
    #[schema(value_type = Object)]
    context: Value,
    #[schema(value_type = Object)]
    metadata: Value,
    version: u32,
    #[schema(format = DateTime)]
    created_at: &'static str,
    #[schema(format = DateTime)]
    updated_at: &'static str,
}

impl Assistant {
    fn named(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            graph_id: LEAD.to_owned(),
            name: id.to_owned(),
            description: None,
            config: json!({}),
            context: json!({}),
            metadata: json!({ "created_by": "system" }),
            version: 1,
            created_at: MADE,
            updated_at: MADE,
        }
    }
}

/// Which assistants.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct AssistantSearch {
    /// Those of that graph.
    graph_id: Option<String>,
    /// How many are left out first.
    #[serde(deserialize_with = "number::optional")]
    #[schema(maximum = 4_294_967_295_u32)]
    offset: Option<usize>,
}

impl Shape for AssistantSearch {
    const EXPECTED: &'static str = r#"{"graph_id": text}, optional"#;
}

/// The assistant of the path.
#[derive(IntoParams)]
#[into_params(names("assistant"), parameter_in = Path)]
pub(super) struct AssistantId(
    /// `lead_agent`, or the name of a custom agent
    #[param(value_type = String)]
    String,
);

impl FromRequestParts<Gateway> for AssistantId {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Failure> {
        let params = params(parts, gateway).await?;
        Ok(Self(param(&params, "assistant").unwrap_or_default().to_owned()))
    }
}

/// Looks for assistants: the one that is built in. Custom agents run by their names and are not listed.
#[utoipa::path(
    post,
    path = "/api/assistants/search",
    operation_id = "search_assistants",
    tag = "runs",
    request_body = AssistantSearch,
    responses((status = OK, description = "The assistants", body = [Assistant]), Unfit, Failure)
)]
pub(super) async fn search(
    _: Who,
    _: Agents,
    Body(search): Body<AssistantSearch>,
) -> Result<Json<Vec<Assistant>>, Failure> {
    let fits = search.graph_id.is_none_or(|graph| graph == LEAD) && search.offset.unwrap_or_default() == 0;
    Ok(Json(if fits { vec![Assistant::named(LEAD)] } else { Vec::new() }))
}

/// An assistant.
#[utoipa::path(
    get,
    path = "/api/assistants/{assistant}",
    operation_id = "get_assistant",
    tag = "runs",
    params(AssistantId),
    responses((status = OK, description = "The assistant", body = Assistant), Missing, Unfit, Failure)
)]
pub(super) async fn get(_: Who, _: Agents, AssistantId(id): AssistantId) -> Result<Json<Assistant>, Failure> {
    // Whether a custom agent of a legal name is there is found out by whoever runs it.
    agent(&id).map_err(|_| Failure::new(StatusCode::NOT_FOUND, "there is no such assistant"))?;
    Ok(Json(Assistant::named(&id)))
}
