//! `POST /api/memory/facts`, `PATCH` and `DELETE /api/memory/facts/{fact}`: single facts, as the caller wants them.

use axum::extract::State;
use pudu_domain::memory::{Edit, MANUAL, NewFact};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Remembered, settings};
use crate::answer::CONFIDENCE;
use crate::error::{Conflict, Failure, Missing, Stale, Unfit};
use crate::input::{Body, FactOf, IfMatch, MemoryOf, Shape};
use crate::state::Gateway;

/// A fact that is to be remembered.
#[derive(Debug, Deserialize, ToSchema)]
pub(in crate::routes) struct FactRequest {
    /// On one line.
    #[schema(max_length = 500, pattern = "\\S", example = "prefers short answers")]
    content: String,
    /// `context` when absent.
    #[serde(default)]
    #[schema(max_length = 40)]
    category: String,
    /// 0 to 1; 0.5 when absent.
    #[schema(minimum = 0, maximum = 1)]
    confidence: Option<f64>,
}

impl Shape for FactRequest {
    const EXPECTED: &'static str =
        r#"{"content": text, "category": text, "confidence": 0 to 1}, only the content needed"#;
}

/// What is to be different in a fact; what is absent stays.
#[derive(Debug, Deserialize, ToSchema)]
pub(in crate::routes) struct FactPatch {
    #[schema(max_length = 500, pattern = "\\S")]
    content: Option<String>,
    #[schema(max_length = 40)]
    category: Option<String>,
    #[schema(minimum = 0, maximum = 1)]
    confidence: Option<f64>,
}

impl Shape for FactPatch {
    const EXPECTED: &'static str =
        r#"{"content": text, "category": text, "confidence": 0 to 1}, each optional"#;
}

/// Remembers a fact.
///
/// Where as many are remembered as may be, the least sure of the others gives way.
#[utoipa::path(
    post,
    path = "/api/memory/facts",
    operation_id = "create_fact",
    tag = "memory",
    params(MemoryOf, IfMatch),
    request_body = FactRequest,
    responses(Remembered, Conflict, Unfit, Stale, Failure)
)]
pub(in crate::routes) async fn create(
    State(gateway): State<Gateway>,
    MemoryOf(key): MemoryOf,
    over: IfMatch,
    Body(fact): Body<FactRequest>,
) -> Result<Remembered, Failure> {
    let most = settings(&gateway).await?.max_facts;
    let FactRequest { content, category, confidence } = fact;
    let new = NewFact { content, category, confidence: confidence.unwrap_or(CONFIDENCE) };
    let over = over.revisions();
    let (memory, _) = gateway.memories.add(&key, over.as_deref(), (&new, MANUAL), most).await?;
    Ok(Remembered::new(memory))
}

/// Changes a fact.
#[utoipa::path(
    patch,
    path = "/api/memory/facts/{fact}",
    operation_id = "update_fact",
    tag = "memory",
    params(MemoryOf, FactOf, IfMatch),
    request_body = FactPatch,
    responses(Remembered, Missing, Conflict, Unfit, Stale, Failure)
)]
pub(in crate::routes) async fn update(
    State(gateway): State<Gateway>,
    MemoryOf(key): MemoryOf,
    FactOf(fact): FactOf,
    over: IfMatch,
    Body(patch): Body<FactPatch>,
) -> Result<Remembered, Failure> {
    let FactPatch { content, category, confidence } = patch;
    let edit = Edit { content, category, confidence };
    Ok(Remembered::new(gateway.memories.edit(&key, over.revisions().as_deref(), &fact, &edit).await?))
}

/// Forgets a fact.
#[utoipa::path(
    delete,
    path = "/api/memory/facts/{fact}",
    operation_id = "delete_fact",
    tag = "memory",
    params(MemoryOf, FactOf, IfMatch),
    responses(Remembered, Missing, Conflict, Unfit, Stale, Failure)
)]
pub(in crate::routes) async fn delete(
    State(gateway): State<Gateway>,
    MemoryOf(key): MemoryOf,
    FactOf(fact): FactOf,
    over: IfMatch,
) -> Result<Remembered, Failure> {
    Ok(Remembered::new(gateway.memories.remove(&key, over.revisions().as_deref(), &fact).await?))
}
