//! Exchanges that are not MCP: token requests and the documents that say where they go. Same client, same egress rule;
//! no redirect is followed, because a token server that moves is one that somebody has to look at.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use url::form_urlencoded::Serializer;

use super::{Failure, JSON, Wire, read};
use crate::target::Target;

/// Most bytes of such an answer.
pub(super) const MAX_PLAIN_BYTES: usize = 256 * 1024;
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

/// An answer of any status. The body may hold credentials, so there is no `Debug`.
pub(crate) struct Plain {
    pub(crate) status: StatusCode,
    /// At most [`MAX_PLAIN_BYTES`]; more is an error.
    pub(crate) body: Vec<u8>,
}

impl Wire {
    /// Sends `fields` as a form to the target's URL, with its headers. It is sent at most once.
    pub(crate) async fn form(&self, target: &Target, fields: &[(&str, &str)]) -> Result<Plain, Failure> {
        let body = Serializer::new(String::new()).extend_pairs(fields).finish();
        let mut headers = target.headers.clone();
        headers.insert(CONTENT_TYPE, FORM);
        self.plain(Method::POST, target, headers, Some(body.into())).await
    }

    /// Reads the document at the target's URL.
    pub(crate) async fn json(&self, target: &Target) -> Result<Plain, Failure> {
        self.plain(Method::GET, target, target.headers.clone(), None).await
    }

    async fn plain(
        &self,
        method: Method,
        target: &Target,
        mut headers: HeaderMap,
        body: Option<bytes::Bytes>,
    ) -> Result<Plain, Failure> {
        headers.insert(ACCEPT, JSON);
        let response = self.send(&method, target, target.url.clone(), headers, body).await?;
        let status = response.status();
        match read(target, response, MAX_PLAIN_BYTES).await? {
            (body, true) => Ok(Plain { status, body }),
            (_, false) => {
                Err(Failure::not_mcp(target, format!("answered with more than {MAX_PLAIN_BYTES} bytes")))
            }
        }
    }
}
