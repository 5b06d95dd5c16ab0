//! `/api/memory`: what agents remember of the caller (agent reference 7.4). It is there whether or not memory is switched on, so that
//! whoever switched it off can still see and clear it.

pub(super) mod facts;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use pudu_config::Memory as Settings;
use pudu_domain::Memory;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::{Content, Ref, RefOr, Response as Described};
use utoipa::{IntoResponses, ToSchema};

use crate::answer::{MemoryConfig, MemoryDocument, MemoryImport, MemoryStatus};
use crate::error::{Conflict, Failure, Stale, Unfit};
use crate::guard::Who;
use crate::input::{Body, IfMatch, IfNoneMatch, MemoryOf, Shape, tagged};
use crate::state::Gateway;

impl Shape for MemoryImport {
    const EXPECTED: &'static str = r#"{"version": "1.0", "facts": [{"id": text, "content": text, …}], "user": …, "history": …}, as it is exported, nothing else"#;
}

/// The answer of most routes: all that is remembered now.
pub(super) struct Remembered(Memory);

impl IntoResponse for Remembered {
    fn into_response(self) -> Response {
        let tag = tagged(&self.0.revision.to_string());
        ([(header::ETAG, tag)], Json(MemoryDocument::from(&self.0))).into_response()
    }
}

impl IntoResponses for Remembered {
    fn responses() -> std::collections::BTreeMap<String, RefOr<Described>> {
        let tag = HeaderBuilder::new().description(Some("For If-Match of the next change")).build();
        let content = Content::new(Some(Ref::from_schema_name(MemoryDocument::name())));
        let now = Described::builder().description("Everything that is remembered now").header("ETag", tag);
        [("200".to_owned(), RefOr::T(now.content("application/json", content).build()))].into()
    }
}

/// What the operator settled.
pub(super) async fn settings(gateway: &Gateway) -> Result<Settings, Failure> {
    Ok(gateway.configs.current().await?.document.agents().memory.clone())
}

/// What is remembered of the caller.
#[utoipa::path(
    get,
    path = "/api/memory",
    operation_id = "get_memory",
    tag = "memory",
    params(MemoryOf),
    responses(Remembered, (status = NOT_MODIFIED, description = "It is that of If-None-Match"), Unfit, Failure)
)]
pub(super) async fn get(
    State(gateway): State<Gateway>,
    MemoryOf(key): MemoryOf,
    known: IfNoneMatch,
) -> Result<Response, Failure> {
    let memory = gateway.memories.read(&key).await?;
    let tag = memory.revision.to_string();
    if known.has(&tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tagged(&tag))]).into_response());
    }
    Ok(Remembered(memory).into_response())
}

/// Forgets everything that is remembered of the caller.
#[utoipa::path(
    delete,
    path = "/api/memory",
    operation_id = "clear_memory",
    tag = "memory",
    params(MemoryOf, IfMatch),
    responses(Remembered, Conflict, Unfit, Stale, Failure)
)]
pub(super) async fn clear(
    State(gateway): State<Gateway>,
    MemoryOf(key): MemoryOf,
    over: IfMatch,
) -> Result<Remembered, Failure> {
    Ok(Remembered(gateway.memories.clear(&key, over.revisions().as_deref()).await?))
}

/// What is remembered of the caller; nothing is kept beside the table, so there is nothing to read anew.
#[utoipa::path(
    post,
    path = "/api/memory/reload",
    operation_id = "reload_memory",
    tag = "memory",
    params(MemoryOf),
    responses(Remembered, Unfit, Failure)
)]
pub(super) async fn reload(
    State(gateway): State<Gateway>,
    MemoryOf(key): MemoryOf,
) -> Result<Remembered, Failure> {
    Ok(Remembered(gateway.memories.read(&key).await?))
}

/// What is remembered of the caller, for a backup or for another Pudu.
#[utoipa::path(
    get,
    path = "/api/memory/export",
    operation_id = "export_memory",
    tag = "memory",
    params(MemoryOf),
    responses(Remembered, Unfit, Failure)
)]
pub(super) async fn export(
    State(gateway): State<Gateway>,
    MemoryOf(key): MemoryOf,
) -> Result<Remembered, Failure> {
    Ok(Remembered(gateway.memories.read(&key).await?))
}

/// Puts what was exported in the place of everything that is remembered.
///
/// Facts that say the same are one; of more than may be kept the surest and newest are.
#[utoipa::path(
    post,
    path = "/api/memory/import",
    operation_id = "import_memory",
    tag = "memory",
    params(MemoryOf, IfMatch),
    request_body = MemoryImport,
    responses(Remembered, Conflict, Unfit, Stale, Failure)
)]
pub(super) async fn import(
    State(gateway): State<Gateway>,
    MemoryOf(key): MemoryOf,
    over: IfMatch,
    Body(document): Body<MemoryImport>,
) -> Result<Remembered, Failure> {
    let most = settings(&gateway).await?.max_facts;
    let read = document.read(gateway.memories.clock.now())?;
    Ok(Remembered(gateway.memories.replace(&key, over.revisions().as_deref(), read, most).await?))
}

/// What the operator settled about memory.
#[utoipa::path(
    get,
    path = "/api/memory/config",
    operation_id = "get_memory_config",
    tag = "memory",
    responses((status = OK, description = "What is settled", body = MemoryConfig), Failure)
)]
pub(super) async fn config(State(gateway): State<Gateway>, _: Who) -> Result<Json<MemoryConfig>, Failure> {
    Ok(Json(MemoryConfig::from(&settings(&gateway).await?)))
}

/// What the operator settled, and what is remembered of the caller.
#[utoipa::path(
    get,
    path = "/api/memory/status",
    operation_id = "get_memory_status",
    tag = "memory",
    params(MemoryOf),
    responses((status = OK, description = "Both", body = MemoryStatus), Unfit, Failure)
)]
pub(super) async fn status(
    State(gateway): State<Gateway>,
    MemoryOf(key): MemoryOf,
) -> Result<Json<MemoryStatus>, Failure> {
    let config = MemoryConfig::from(&settings(&gateway).await?);
    let data = MemoryDocument::from(&gateway.memories.read(&key).await?);
    Ok(Json(MemoryStatus { config, data }))
}

impl Remembered {
    pub(super) const fn new(memory: Memory) -> Self {
        Self(memory)
    }
}
