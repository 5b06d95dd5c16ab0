//! `GET /api/threads/{thread}/events`: what was delivered.

use axum::Json;
use axum::extract::State;
use pudu_domain::ThreadKey;
use serde_json::Value;

use super::tasks::Page;
use crate::answer;
use crate::error::Failure;
use crate::input::{Params, Thread};
use crate::state::Gateway;

/// The newest events of a thread, in the order of their delivery.
pub(super) async fn list(
    State(gateway): State<Gateway>,
    Thread(thread): Thread,
    Params(page): Params<Page>,
) -> Result<Json<Vec<Value>>, Failure> {
    let thread = ThreadKey { user: gateway.user.clone(), thread };
    let events = gateway.events.events(&thread, page.limit()?).await?;
    Ok(Json(events.iter().map(|told| answer::delivered(&thread.thread, told)).collect()))
}
