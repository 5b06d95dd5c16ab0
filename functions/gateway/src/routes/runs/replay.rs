//! `POST …/runs/regenerate/prepare` and `…/runs/edit-regenerate/prepare`: what a run is begun with to answer once more (agent
//! reference 2.2).

use axum::Json;
use pudu_app::runs::{EDIT, REPLAY_KIND, Replay};
use pudu_domain::ThreadKey;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::error::{Conflict, Failure, Missing, Unfit};
use crate::guard::Who;
use crate::input::{Agents, Body, Shape, Thread};

/// Which answer is made anew.
#[derive(Debug, Deserialize, ToSchema)]
pub(in crate::routes) struct RegenerateRequest {
    /// The id of the thread's latest answer.
    message_id: String,
}

impl Shape for RegenerateRequest {
    const EXPECTED: &'static str = r#"{"message_id": text}"#;
}

/// What is said otherwise.
#[derive(Debug, Deserialize, ToSchema)]
pub(in crate::routes) struct EditRequest {
    /// The id of what the user said last.
    human_message_id: String,
    /// What is said in its place.
    replacement_text: String,
}

impl Shape for EditRequest {
    const EXPECTED: &'static str = r#"{"human_message_id": text, "replacement_text": text}"#;
}

/// What a run is begun with: its `input`, `checkpoint` and `metadata`, as they are.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::routes) struct Prepared {
    /// `{"messages": […]}`: what the user said, and before it what came into the thread with it.
    #[schema(value_type = Object)]
    input: Value,
    /// Where the thread stood before it was said.
    checkpoint: BaseRef,
    /// What the new run notes of the old one.
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
    /// The run whose answer is made anew.
    target_run_id: String,
    /// Of an edit: the id of the new message.
    #[serde(skip_serializing_if = "Option::is_none")]
    replacement_human_message_id: Option<String>,
    /// Messages that the new run takes the place of.
    source_message_ids: Vec<String>,
}

/// A checkpoint by its id, as runs take it.
#[derive(Debug, Serialize, ToSchema)]
struct BaseRef {
    /// Empty.
    #[serde(rename = "checkpoint_ns")]
    namespace: &'static str,
    #[serde(rename = "checkpoint_id")]
    id: String,
    /// Null.
    #[serde(rename = "checkpoint_map")]
    #[schema(value_type = Option<Object>)]
    map: Value,
}

impl Prepared {
    fn new(replay: Replay) -> Self {
        let checkpoint_id = replay.base.id();
        let metadata = Map::from_iter([
            ("regenerate_from_message_id".to_owned(), json!(replay.answer)),
            ("regenerate_from_run_id".to_owned(), json!(replay.run.as_str())),
            ("regenerate_checkpoint_id".to_owned(), json!(checkpoint_id)),
        ]);
        let messages: Vec<_> = replay.before.into_iter().chain([replay.said]).collect();
        Self {
            input: json!({ "messages": messages }),
            checkpoint: BaseRef { namespace: "", id: checkpoint_id, map: Value::Null },
            metadata,
            target_run_id: replay.run.to_string(),
            replacement_human_message_id: None,
            source_message_ids: replay.replaced,
        }
    }

    fn edited(replay: Replay) -> Self {
        let (said, asked) = (replay.said.id.clone(), replay.asked.clone());
        let mut prepared = Self::new(replay);
        prepared.metadata.extend([
            (REPLAY_KIND.to_owned(), json!(EDIT)),
            ("edit_from_message_id".to_owned(), json!(asked)),
            ("edit_message_id".to_owned(), json!(said)),
        ]);
        Self { replacement_human_message_id: Some(said), ..prepared }
    }
}

/// What makes the thread's latest answer anew.
///
/// Nothing is begun: a run that is begun with the `input`, `checkpoint` and `metadata` of the answer says it once more.
#[utoipa::path(
    post,
    path = "/api/threads/{thread}/runs/regenerate/prepare",
    operation_id = "prepare_regenerate",
    tag = "runs",
    params(Thread),
    request_body = RegenerateRequest,
    responses((status = OK, description = "What the run is begun with", body = Prepared), Missing, Conflict, Unfit, Failure)
)]
pub(in crate::routes) async fn regenerate(
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
    Body(asked): Body<RegenerateRequest>,
) -> Result<Json<Prepared>, Failure> {
    let thread = ThreadKey { user: who.user, thread };
    Ok(Json(Prepared::new(runs.regenerate(&thread, &asked.message_id).await?)))
}

/// What says something else in the place of what the user said last.
///
/// Nothing is begun, as with an answer that is made anew.
#[utoipa::path(
    post,
    path = "/api/threads/{thread}/runs/edit-regenerate/prepare",
    operation_id = "prepare_edit",
    tag = "runs",
    params(Thread),
    request_body = EditRequest,
    responses((status = OK, description = "What the run is begun with", body = Prepared), Missing, Conflict, Unfit, Failure)
)]
pub(in crate::routes) async fn edit(
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
    Body(asked): Body<EditRequest>,
) -> Result<Json<Prepared>, Failure> {
    let thread = ThreadKey { user: who.user, thread };
    Ok(Json(Prepared::edited(runs.edit(&thread, &asked.human_message_id, &asked.replacement_text).await?)))
}
