//! Whose memory a request is about: the caller's own, for the lead or for a custom agent.

use axum::extract::{FromRequestParts, Query};
use http::request::Parts;
use pudu_domain::{AgentName, FactId, MemoryKey};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::ObjectBuilder;
use utoipa::openapi::{Required, Type};

use super::{IfMatch, param, params};
use crate::error::Failure;
use crate::guard::Who;
use crate::state::Gateway;

/// The caller's memory.
pub(crate) struct MemoryOf(pub(crate) MemoryKey);

/// The fact of the path; what can be no id is no fact.
pub(crate) struct FactOf(pub(crate) FactId);

#[derive(Deserialize)]
struct Agent {
    agent_name: Option<String>,
}

impl FromRequestParts<Gateway> for MemoryOf {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Failure> {
        let Who(who) = Who::from_request_parts(parts, gateway).await?;
        let query = Query::<Agent>::from_request_parts(parts, gateway).await;
        let Query(Agent { agent_name }) = query.map_err(|error| Failure::unprocessable(error.body_text()))?;
        let agent = agent_name.map(AgentName::parse).transpose();
        let agent = agent.map_err(|error| Failure::unprocessable(error.to_string()))?;
        Ok(Self(MemoryKey { user: who.user, agent }))
    }
}

impl FromRequestParts<Gateway> for FactOf {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Failure> {
        let params = params(parts, gateway).await?;
        FactId::parse(param(&params, "fact").unwrap_or_default())
            .map(Self)
            .map_err(|_| Failure::no_such_fact())
    }
}

impl IfMatch {
    /// The revisions of a memory one of which it must have; what is no revision is one that nothing has.
    pub(crate) fn revisions(&self) -> Option<Vec<u64>> {
        let tags = self.0.as_ref()?;
        Some(tags.iter().filter_map(|tag| tag.parse().ok()).collect())
    }
}

impl IntoParams for MemoryOf {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[a-z0-9-]{1,128}$")).build();
        let agent = ParameterBuilder::new().name("agent_name").parameter_in(ParameterIn::Query);
        let what = "A custom agent, which has a memory of its own; the lead's when absent";
        vec![agent.required(Required::False).description(Some(what)).schema(Some(text)).build()]
    }
}

impl IntoParams for FactOf {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let text =
            ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[A-Za-z0-9_-]{1,64}$")).build();
        let fact = ParameterBuilder::new().name("fact").parameter_in(ParameterIn::Path);
        vec![fact.required(Required::True).description(Some("A fact's id")).schema(Some(text)).build()]
    }
}
