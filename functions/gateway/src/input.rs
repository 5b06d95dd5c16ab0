//! Reading a request: what does not fit is a 4xx that says what and where, never a 500.

mod context;
pub(crate) mod json;
mod whole;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use http::StatusCode;
use http::request::Parts;
use pudu_domain::{IdempotencyKey, TaskId, ThreadId, ThreadKey};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use context::Context;
pub(crate) use whole::MAX_BODY;
pub use whole::Patience;

use crate::error::Failure;
use crate::guard::Who;
use crate::state::Gateway;

/// What a body may be, in words: what is wrong with one is never told by repeating it, it may hold a secret.
pub(crate) trait Shape: DeserializeOwned {
    /// What is expected.
    const EXPECTED: &'static str;
}

impl Shape for Value {
    const EXPECTED: &'static str = "JSON";
}

/// A JSON body of a known shape.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: Shape> FromRequest<Gateway> for Body<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &Gateway) -> Result<Self, Failure> {
        let Raw(bytes) = Raw::from_request(request, state).await?;
        // Parsed once as JSON, so that broken JSON and a wrong shape are told apart.
        let value = json::parse(&bytes).map_err(|broken| {
            Failure::new(
                StatusCode::BAD_REQUEST,
                format!("the body is not JSON as it is taken here: {broken}"),
            )
        })?;
        // A struct also reads from an array, by the order of its fields; no body is meant that way.
        let value = if value.is_array() { Value::Null } else { value };
        serde_json::from_value(value)
            .map(Self)
            .map_err(|_| Failure::unprocessable(format!("the body must be {}", T::EXPECTED)))
    }
}

/// A body as it came, bounded in size and in the time that it takes to come.
pub(crate) struct Raw(pub(crate) Bytes);

impl FromRequest<Gateway> for Raw {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &Gateway) -> Result<Self, Failure> {
        let (head, body) = request.into_parts();
        whole::whole(&head.headers, body, state.patience).await.map(Self)
    }
}

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
        let key = IdempotencyKey::parse(key.to_str().unwrap_or_default());
        key.map(|key| Self(Some(key))).map_err(|error| Failure::unprocessable(error.to_string()))
    }
}

/// A query of a known shape.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Gateway> for Params<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Gateway) -> Result<Self, Failure> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|Query(params)| Self(params)).map_err(|error| Failure::unprocessable(error.body_text()))
    }
}

async fn params(parts: &mut Parts, state: &Gateway) -> Result<Vec<(String, String)>, Failure> {
    let path = Path::<Vec<(String, String)>>::from_request_parts(parts, state).await;
    path.map(|Path(params)| params).map_err(|error| Failure::unprocessable(error.body_text()))
}

fn param<'a>(params: &'a [(String, String)], name: &str) -> Option<&'a str> {
    params.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}
