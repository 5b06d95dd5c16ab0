//! Entity tags: over what a caller wants to write, and what it has already (RFC 9110, section 13.1).

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderMap, HeaderName};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::ObjectBuilder;
use utoipa::openapi::{Required, Type};

use crate::state::Gateway;

/// The header `If-Match`: the tags one of which the config, or a memory, must have. None when it is absent, or `*`, which is
/// "whatever there is": there always is one.
pub(crate) struct IfMatch(pub(crate) Option<Vec<String>>);

/// The header `If-None-Match`: what the caller has already.
pub(crate) struct IfNoneMatch(Option<Vec<String>>);

/// An etag as the header has it.
pub(crate) fn tagged(etag: &str) -> String {
    format!("\"{etag}\"")
}

impl IfNoneMatch {
    /// Whether the caller has what this tag stands for.
    pub(crate) fn has(&self, etag: &str) -> bool {
        self.0.as_ref().is_some_and(|known| known.iter().any(|known| known == etag))
    }
}

impl FromRequestParts<Gateway> for IfMatch {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Gateway) -> Result<Self, Infallible> {
        // A weak tag is none over which one can write.
        Ok(Self(tags(&parts.headers, &IF_MATCH, |_| None)))
    }
}

impl FromRequestParts<Gateway> for IfNoneMatch {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Gateway) -> Result<Self, Infallible> {
        Ok(Self(tags(&parts.headers, &IF_NONE_MATCH, |weak| weak.strip_prefix("W/"))))
    }
}

/// The tags of all headers of that name, without their quotes. What is no tag is one that nothing has.
fn tags(headers: &HeaderMap, name: &HeaderName, weak: impl Fn(&str) -> Option<&str>) -> Option<Vec<String>> {
    let lines = headers.get_all(name).iter().map(|line| line.to_str().unwrap_or_default());
    let given: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
    if given.is_empty() || given == ["*"] {
        return None;
    }
    let strong = |tag: &str| {
        let tag = if tag.starts_with("W/") { weak(tag)? } else { tag };
        // Some clients leave the quotes out.
        Some(tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).unwrap_or(tag).to_owned())
    };
    Some(given.into_iter().filter_map(strong).collect())
}

fn in_header(name: &str, what: &str) -> Vec<Parameter> {
    let text = ObjectBuilder::new().schema_type(Type::String).build();
    let header = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Header);
    vec![header.required(Required::False).description(Some(what)).schema(Some(text)).build()]
}

impl IntoParams for IfMatch {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        in_header("If-Match", "The ETag of what was read: over another state of it nothing is changed")
    }
}

impl IntoParams for IfNoneMatch {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        in_header("If-None-Match", "The ETag of what the caller has already")
    }
}

#[cfg(test)]
mod tests;
