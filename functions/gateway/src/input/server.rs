//! A server and a revision of the path.

use axum::extract::FromRequestParts;
use http::request::Parts;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::ObjectBuilder;
use utoipa::openapi::{Required, Type};

use super::{param, params};
use crate::error::Failure;
use crate::state::Gateway;

/// The server of the path, by its name in the config; whether there is one is not known here.
pub(crate) struct ServerName(pub(crate) String);

/// The revision of the path; whether there is one is not known here.
pub(crate) struct RevisionNumber(pub(crate) u64);

impl FromRequestParts<Gateway> for ServerName {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Gateway) -> Result<Self, Failure> {
        let params = params(parts, state).await?;
        Ok(Self(param(&params, "name").unwrap_or_default().to_owned()))
    }
}

impl FromRequestParts<Gateway> for RevisionNumber {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Gateway) -> Result<Self, Failure> {
        let params = params(parts, state).await?;
        let number = param(&params, "number").unwrap_or_default().parse();
        number
            .map(Self)
            .map_err(|_| Failure::unprocessable("the number of a revision must be a whole number"))
    }
}

fn in_path(name: &str, what: &str, schema: ObjectBuilder) -> Vec<Parameter> {
    let parameter =
        ParameterBuilder::new().name(name).parameter_in(ParameterIn::Path).required(Required::True);
    vec![parameter.description(Some(what)).schema(Some(schema.build())).build()]
}

impl IntoParams for ServerName {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let name = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1));
        in_path("name", "The server's name in the config", name)
    }
}

impl IntoParams for RevisionNumber {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0));
        in_path("number", "The revision's number", number)
    }
}
