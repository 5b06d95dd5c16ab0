//! Reading a request: what does not fit is a 4xx that says what and where, never a 500.

mod body;
mod context;
mod cursor;
mod described;
mod etags;
pub(crate) mod json;
pub(crate) mod limit;
mod memory;
pub(crate) mod number;
mod run;
mod server;
mod whole;

use axum::extract::{FromRequestParts, Path, Query};
use http::request::Parts;
use pudu_app::runs::follow::FrameId;
use pudu_domain::note::DELIVERY_KEYS;
use pudu_domain::{IdempotencyKey, TaskId, ThreadId, ThreadKey, Timestamp};
use serde::de::DeserializeOwned;

pub(crate) use body::{Body, Raw, Shape};
pub(crate) use context::{Context, Secrets};
pub(crate) use cursor::{List, Paged, wrong as wrong_cursor};
pub(crate) use etags::{IfMatch, IfNoneMatch, tagged};
pub(crate) use memory::{FactOf, MemoryOf};
pub(crate) use run::{Agents, Asked, RunAlone, RunOf, RunRequest, base};
pub(crate) use server::{RevisionNumber, ServerName};
pub(crate) use whole::MAX_BODY;
pub use whole::Patience;

use crate::error::Failure;
use crate::guard::Who;
use crate::state::Gateway;

/// The thread of the path, whatever it is in.
pub(crate) struct AnyThread(pub(crate) ThreadId);

/// The thread of the path; one that is being deleted is not there.
pub(crate) struct Thread(pub(crate) ThreadId);

impl FromRequestParts<Gateway> for Thread {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Gateway) -> Result<Self, Failure> {
        let AnyThread(thread) = AnyThread::from_request_parts(parts, state).await?;
        let Who(who) = Who::from_request_parts(parts, state).await?;
        let key = ThreadKey { user: who.user, thread };
        if state.threads.is_going(&key).await? {
            return Err(Failure::no_such_thread());
        }
        Ok(Self(key.thread))
    }
}

impl FromRequestParts<Gateway> for AnyThread {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Gateway) -> Result<Self, Failure> {
        let params = params(parts, state).await?;
        let text = param(&params, "thread").unwrap_or_default();
        ThreadId::parse(text).map(Self).map_err(|error| Failure::unprocessable(error.to_string()))
    }
}

/// The task of the path; one that cannot be an id is no task.
pub(crate) struct Task(pub(crate) TaskId);

impl FromRequestParts<Gateway> for Task {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Gateway) -> Result<Self, Failure> {
        let params = params(parts, state).await?;
        TaskId::parse(param(&params, "id").unwrap_or_default()).map(Self).map_err(|_| Failure::no_such_task())
    }
}

/// The tool of the path.
pub(crate) struct ToolName(pub(crate) String);

impl FromRequestParts<Gateway> for ToolName {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Gateway) -> Result<Self, Failure> {
        let params = params(parts, state).await?;
        Ok(Self(param(&params, "name").unwrap_or_default().to_owned()))
    }
}

/// The id of the path, whatever text it is.
pub(crate) struct KeyOfPath(pub(crate) String);

impl FromRequestParts<Gateway> for KeyOfPath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Gateway) -> Result<Self, Failure> {
        let params = params(parts, state).await?;
        Ok(Self(param(&params, "id").unwrap_or_default().to_owned()))
    }
}

/// The header `Idempotency-Key`, if there is one.
pub(crate) struct Repeatable(pub(crate) Option<IdempotencyKey>);

impl FromRequestParts<Gateway> for Repeatable {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Gateway) -> Result<Self, Failure> {
        let mut given = parts.headers.get_all("idempotency-key").iter();
        let Some(key) = given.next() else { return Ok(Self(None)) };
        if given.next().is_some() {
            return Err(Failure::unprocessable("there is more than one Idempotency-Key"));
        }
        // What is not visible ASCII reads as empty, which is no key either.
        let text = key.to_str().unwrap_or_default();
        if text.starts_with(DELIVERY_KEYS) {
            let detail =
                format!("an Idempotency-Key that begins with {DELIVERY_KEYS} is a delivery's; take another");
            return Err(Failure::unprocessable(detail));
        }
        let key = IdempotencyKey::parse(text);
        key.map(|key| Self(Some(key))).map_err(|error| Failure::unprocessable(error.to_string()))
    }
}

/// Where a stream is to go on: the header `Last-Event-ID`, by which a client says what it has heard.
pub(crate) struct LastEventId(pub(crate) Option<Timestamp>);

impl FromRequestParts<Gateway> for LastEventId {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Gateway) -> Result<Self, Failure> {
        let given = parts.headers.get("last-event-id").filter(|given| !given.is_empty());
        let Some(given) = given else { return Ok(Self(None)) };
        let millis = given.to_str().ok().and_then(|text| text.parse().ok());
        let millis =
            millis.ok_or_else(|| Failure::unprocessable("Last-Event-ID is not one of this stream"))?;
        Ok(Self(Some(Timestamp::from_millis(millis))))
    }
}

/// Behind which frame of a run's stream a client comes back: the header `Last-Event-ID`.
pub(crate) struct Resumed(pub(crate) Option<FrameId>);

impl FromRequestParts<Gateway> for Resumed {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Gateway) -> Result<Self, Failure> {
        let given = parts.headers.get("last-event-id").filter(|given| !given.is_empty());
        let Some(given) = given else { return Ok(Self(None)) };
        let id = given.to_str().ok().and_then(FrameId::parse);
        id.map(|id| Self(Some(id)))
            .ok_or_else(|| Failure::unprocessable("Last-Event-ID is not one of this stream"))
    }
}

/// A query of a known shape; parameters that it does not know are ignored, as in the reference.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Gateway> for Params<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Gateway) -> Result<Self, Failure> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|Query(params)| Self(params)).map_err(|error| Failure::unprocessable(error.body_text()))
    }
}

pub(crate) async fn params(parts: &mut Parts, state: &Gateway) -> Result<Vec<(String, String)>, Failure> {
    let path = Path::<Vec<(String, String)>>::from_request_parts(parts, state).await;
    path.map(|Path(params)| params).map_err(|error| Failure::unprocessable(error.body_text()))
}

pub(crate) fn param<'a>(params: &'a [(String, String)], name: &str) -> Option<&'a str> {
    params.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}
