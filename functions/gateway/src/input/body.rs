//! Bodies: broken JSON is 400 and says where it breaks, a wrong shape is 422 and says which part is wrong. Neither repeats a
//! value: it may be a secret.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Path;

use super::{json, whole};
use crate::error::Failure;
use crate::state::Gateway;

/// Most characters of a path in an answer: its parts are the caller's.
const PATH_CHARS: usize = 200;

/// What a body may be, in words.
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
        read(&bytes).map(Self)
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

fn read<T: Shape>(bytes: &[u8]) -> Result<T, Failure> {
    // Parsed once as JSON, so that broken JSON and a wrong shape are told apart.
    let value = json::parse(bytes).map_err(|broken| {
        let detail = format!("the body is not JSON as it is taken here: {broken}");
        Failure::new(StatusCode::BAD_REQUEST, detail)
    })?;
    // A struct also reads from an array, by the order of its fields; no body is meant that way.
    let value = if value.is_array() { Value::Null } else { value };
    serde_path_to_error::deserialize(value).map_err(|error| {
        let at = path(error.path())
            .map(|path| format!("; {path} is wrong, misses something or does not belong there"));
        Failure::unprocessable(format!("the body must be {}{}", T::EXPECTED, at.unwrap_or_default()))
    })
}

/// Which part of the body is wrong, if it is not all of it. The error itself is never told: it repeats values.
fn path(path: &Path) -> Option<String> {
    path.iter().next()?;
    let whole: String = path.to_string().chars().filter(|c| !c.is_control()).collect();
    Some(match whole.char_indices().nth(PATH_CHARS) {
        Some((end, _)) => format!("{}…", whole.get(..end).unwrap_or_default()),
        None => whole,
    })
}

#[cfg(test)]
mod tests;
