//! `POST /api/threads/{thread}/branches`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use pudu_app::runs::values::TITLE_BYTES;
use pudu_domain::ThreadKey;
use serde::Deserialize;
use utoipa::ToSchema;

use super::fresh;
use crate::answer::Branch;
use crate::error::{Failure, Missing, Unfit};
use crate::guard::Who;
use crate::input::{Agents, Body, Shape, Thread};
use crate::state::Gateway;

/// A branch that is wanted.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(in crate::routes) struct BranchRequest {
    /// The last message that comes along.
    message_id: Option<String>,
    /// Other ids by which it is known; the last message of any of them is the one.
    message_ids: Option<Vec<String>>,
    /// What the branch is called.
    title: Option<String>,
}

impl Shape for BranchRequest {
    const EXPECTED: &'static str = r#"{"message_id": text, "message_ids": [texts], "title": text}"#;
}

/// A new thread from a message of this one.
#[utoipa::path(
    post,
    path = "/api/threads/{thread}/branches",
    operation_id = "branch_thread",
    tag = "threads",
    params(Thread),
    request_body = BranchRequest,
    responses((status = OK, description = "The new thread", body = Branch), Missing, Unfit, Failure)
)]
pub(in crate::routes) async fn create(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
    Body(asked): Body<BranchRequest>,
) -> Result<Json<Branch>, Failure> {
    let messages: Vec<String> =
        asked.message_id.into_iter().chain(asked.message_ids.unwrap_or_default()).collect();
    if messages.is_empty() {
        return Err(Failure::unprocessable("a branch needs a message_id or message_ids"));
    }
    if asked.title.as_ref().is_some_and(|title| title.len() > TITLE_BYTES) {
        return Err(Failure::unprocessable(format!("title must be at most {TITLE_BYTES} bytes")));
    }
    let branch = pudu_app::runs::Branch {
        from: ThreadKey { user: who.user.clone(), thread: thread.clone() },
        to: ThreadKey { user: who.user, thread: fresh(&gateway)? },
        messages,
        title: asked.title,
        scope: who.scope,
    };
    let branched = runs.branch(branch).await?;
    let none = || Failure::new(StatusCode::NOT_FOUND, "the thread has no such message");
    Ok(Json(Branch::new(thread, branched.ok_or_else(none)?)))
}
