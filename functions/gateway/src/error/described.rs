//! Errors as the contract describes them: [`Failure`](super::Failure) stands for all that may happen anywhere, the others say
//! what their status means where it is part of a route's own work.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::openapi::{Content, Ref, RefOr, Response};
use utoipa::{IntoResponses, ToSchema};

use super::Failure;

/// The body of every error.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Detail {
    /// What is wrong, where, and what to do; never a secret.
    #[schema(example = "there is no such thread")]
    pub(super) detail: String,
}

macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident = $($status:literal: $what:literal),+;)+) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                [$(($status, $what)),+].into_iter().map(refusal).collect()
            }
        }
    )+};
}

refusals! {
    /// Not for this caller.
    Forbidden = "403": "The caller may not do this";
    /// Not there for this caller.
    Missing = "404": "There is no such thing, or it is somebody else's";
    /// Not as things are.
    Conflict = "409": "It cannot be done as things are now";
    /// Over another state.
    Stale = "412": "It has changed since the caller read it";
    /// What was sent.
    Unfit = "422": "A parameter or the body has a wrong shape; the detail says where";
    /// The server behind it.
    Upstream = "502": "The MCP server could not be used", "504": "The MCP server did not answer in time";
}

impl IntoResponses for Failure {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        [
            ("4XX", "Not served as it was asked: the detail says what to change"),
            ("5XX", "Not served for a reason of Pudu's own, or of what it stands on"),
        ]
        .into_iter()
        .map(refusal)
        .collect()
    }
}

fn refusal((status, what): (&str, &str)) -> (String, RefOr<Response>) {
    let body = Content::new(Some(Ref::from_schema_name(Detail::name())));
    let response = Response::builder().description(what).content("application/json", body).build();
    (status.to_owned(), RefOr::T(response))
}
