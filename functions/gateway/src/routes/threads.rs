//! `/api/threads`: the threads of a caller (agent reference 2.1).

pub(super) mod branches;
pub(super) mod compact;
pub(super) mod goal;
pub(super) mod messages;
pub(super) mod state;

use axum::Json;
use axum::extract::State;
use futures_util::future::try_join_all;
use http::StatusCode;
use pudu_app::runs::{Found, NewThread, configured};
use pudu_domain::conversation::Status;
use pudu_domain::{ThreadId, ThreadKey};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::answer::ThreadRow;
use crate::error::{Conflict, Failure, Missing, Unfit};
use crate::guard::Who;
use crate::input::{Agents, AnyThread, Body, Shape, Thread, limit, number};
use crate::state::Gateway;

/// Most threads of one answer.
const MOST: usize = 1000;
/// Where the request does not say.
const USUAL: usize = 100;
/// Threads that are looked at side by side.
const AT_ONCE: usize = 16;

/// A thread that is to be there. What else a client sends with it is ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct NewThreadRequest {
    /// Its id; one is made if there is none.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$")]
    thread_id: Option<String>,
    /// For which assistant.
    assistant_id: Option<String>,
    /// What is noted of it.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
    /// `do_nothing` (default), or `raise` if it is there.
    if_exists: Option<String>,
}

impl Shape for NewThreadRequest {
    const EXPECTED: &'static str =
        r#"{"thread_id": text, "assistant_id": text, "metadata": {…}}, all optional"#;
}

/// Which threads are looked for.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct ThreadSearch {
    /// Those of which all of this is noted.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
    /// 1 to 1000, 100 when absent.
    #[serde(deserialize_with = "number::optional")]
    #[schema(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// How many are left out first.
    #[serde(deserialize_with = "number::optional")]
    #[schema(maximum = 4_294_967_295_u32)]
    offset: Option<usize>,
    /// `idle`, `busy`, `interrupted` or `error`.
    status: Option<String>,
}

impl Shape for ThreadSearch {
    const EXPECTED: &'static str =
        r#"{"metadata": {…}, "limit": 1 to 1000, "offset": number, "status": text}, all optional"#;
}

/// What is noted of a thread from now on.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct ThreadNotes {
    /// Beside what is noted already.
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
}

impl Shape for ThreadNotes {
    const EXPECTED: &'static str = r#"{"metadata": {…}}"#;
}

/// That a thread is being deleted.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Deleting {
    #[schema(value_type = String)]
    thread_id: ThreadId,
    /// `deleting`.
    status: &'static str,
    /// For people.
    message: &'static str,
}

/// Makes a thread, or returns the one of that id.
#[utoipa::path(
    post,
    path = "/api/threads",
    operation_id = "create_thread",
    tag = "threads",
    request_body = NewThreadRequest,
    responses((status = OK, description = "The thread", body = ThreadRow), Conflict, Unfit, Failure)
)]
pub(super) async fn create(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Agents(runs): Agents,
    Body(new): Body<NewThreadRequest>,
) -> Result<Json<ThreadRow>, Failure> {
    let id = new.thread_id.map_or_else(
        || fresh(&gateway),
        |id| ThreadId::parse(id).map_err(|error| Failure::unprocessable(error.to_string())),
    )?;
    let raises = match new.if_exists.as_deref() {
        None | Some("do_nothing") => false,
        Some("raise") => true,
        Some(_) => return Err(Failure::unprocessable("if_exists must be raise or do_nothing")),
    };
    let thread = ThreadKey { user: who.user, thread: id };
    // One of another name could begin no run.
    new.assistant_id.as_deref().map(configured::agent).transpose()?;
    let metadata = new.metadata.unwrap_or_default();
    let new = NewThread { thread: thread.clone(), metadata, assistant: new.assistant_id, scope: who.scope };
    let (_, made) = runs.open(new).await?;
    if raises && !made {
        return Err(Failure::new(StatusCode::CONFLICT, "there is a thread of that id already"));
    }
    let view = runs.state(&thread, None).await?.ok_or_else(Failure::no_such_thread)?;
    Ok(Json(ThreadRow::whole(view)))
}

/// Looks for threads, the newest first.
#[utoipa::path(
    post,
    path = "/api/threads/search",
    operation_id = "search_threads",
    tag = "threads",
    request_body = ThreadSearch,
    responses((status = OK, description = "The caller's threads", body = [ThreadRow]), Unfit, Failure)
)]
pub(super) async fn search(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Agents(runs): Agents,
    Body(search): Body<ThreadSearch>,
) -> Result<Json<Vec<ThreadRow>>, Failure> {
    let limit = limit::within(search.limit.unwrap_or(USUAL), MOST)?;
    let status = search.status.map(|status| match status.as_str() {
        "idle" => Ok(Status::Idle),
        "busy" | "running" => Ok(Status::Busy),
        "interrupted" => Ok(Status::Interrupted),
        "error" => Ok(Status::Error),
        _ => Err(Failure::unprocessable("status must be idle, busy, interrupted or error")),
    });
    let wanted = Found {
        metadata: search.metadata.unwrap_or_default(),
        status: status.transpose()?,
        offset: search.offset.unwrap_or_default(),
        limit,
    };
    let found = runs.find(&who.user, &wanted).await?;
    // One that is being deleted is nobody's any more, although its rows are still there.
    let mut going = Vec::with_capacity(found.len());
    for some in found.chunks(AT_ONCE) {
        going.extend(try_join_all(some.iter().map(|found| gateway.threads.is_going(&found.thread))).await?);
    }
    let there = found.into_iter().zip(going).filter(|(_, going)| !going);
    Ok(Json(there.map(|(found, _)| ThreadRow::listed(found)).collect()))
}

/// A thread.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}",
    operation_id = "get_thread",
    tag = "threads",
    params(Thread),
    responses((status = OK, description = "The thread with its state", body = ThreadRow), Missing, Unfit, Failure)
)]
pub(super) async fn get(
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
) -> Result<Json<ThreadRow>, Failure> {
    let key = ThreadKey { user: who.user, thread };
    let view = runs.state(&key, None).await?.ok_or_else(Failure::no_such_thread)?;
    Ok(Json(ThreadRow::whole(view)))
}

/// Notes something of a thread.
///
/// What is noted already stays, unless it is noted anew. Only `pinned` does not make the thread newer.
#[utoipa::path(
    patch,
    path = "/api/threads/{thread}",
    operation_id = "patch_thread",
    tag = "threads",
    params(Thread),
    request_body = ThreadNotes,
    responses((status = OK, description = "The thread", body = ThreadRow), Missing, Unfit, Failure)
)]
pub(super) async fn patch(
    Who(who): Who,
    Agents(runs): Agents,
    Thread(thread): Thread,
    Body(notes): Body<ThreadNotes>,
) -> Result<Json<ThreadRow>, Failure> {
    let key = ThreadKey { user: who.user, thread };
    runs.annotate(&key, notes.metadata).await?;
    let view = runs.state(&key, None).await?.ok_or_else(Failure::no_such_thread)?;
    Ok(Json(ThreadRow::whole(view)))
}

/// Deletes a thread.
///
/// Answers at once, and the same again while there is something left to delete: what it takes is done in the background. Not while a
/// run is active in it.
#[utoipa::path(
    delete,
    path = "/api/threads/{thread}",
    operation_id = "delete_thread",
    tag = "threads",
    params(AnyThread),
    responses((status = ACCEPTED, description = "It is being deleted", body = Deleting), Missing, Conflict, Unfit, Failure)
)]
pub(super) async fn delete(
    State(gateway): State<Gateway>,
    Who(who): Who,
    AnyThread(thread): AnyThread,
) -> Result<(StatusCode, Json<Deleting>), Failure> {
    let key = ThreadKey { user: who.user.clone(), thread };
    let conversation = gateway.runs.conversation(&key).await?;
    if conversation.is_some_and(|conversation| conversation.active.is_some()) {
        let detail = "the thread already has an active run; cancel it, or wait until it has ended";
        return Err(Failure::new(StatusCode::CONFLICT, detail));
    }
    let deleted = gateway.threads.delete(&key).await?.ok_or_else(Failure::no_such_thread)?;
    gateway.streams.changed(&key);
    let answer = Deleting {
        thread_id: deleted.key.thread,
        status: "deleting",
        message: "The thread's tasks are being cancelled; what is stored of it goes when they have ended.",
    };
    Ok((StatusCode::ACCEPTED, Json(answer)))
}

/// A new thread's id.
pub(super) fn fresh(gateway: &Gateway) -> Result<ThreadId, Failure> {
    let tools = &gateway.tools;
    let mut random = [0; 10];
    tools.random.fill(&mut random);
    let id = pudu_domain::RunId::new(tools.settle.clock.now(), random);
    ThreadId::parse(id.as_str()).map_err(|error| Failure::unprocessable(error.to_string()))
}
