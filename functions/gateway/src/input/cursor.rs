//! Where a list goes on. A cursor is opaque to callers, belongs to the one list that gave it, and is a place and no number: what
//! comes in meanwhile shifts nothing.
//!
//! It is not secret and not signed: whoever makes one up gets a place in a list that he may read anyway.

use axum::Json;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderName, HeaderValue, Uri, header};
use pudu_config::sha256_hex;
use serde::Serialize;
use serde_json::json;

use crate::error::Failure;

/// The cursor of the next page, beside the `Link`.
const NEXT: HeaderName = HeaderName::from_static("pudu-next-cursor");
/// The first character of every cursor, before its encoding.
const FORMAT: char = '1';
/// Hex digits that name a list.
const DIGITS: usize = 16;
/// Longest cursor that is looked at.
const MOST: usize = 1024;

/// A list that has cursors: what it lists, and whose, or of what.
#[derive(Debug, Clone)]
pub(crate) struct List(String);

impl List {
    /// The list of `what`, of the things that `of` names.
    pub(crate) fn new(what: &str, of: &[&str]) -> Self {
        let mut digest = sha256_hex(&json!([what, of]));
        digest.truncate(DIGITS);
        Self(digest)
    }

    /// The cursor for what follows `place`.
    pub(crate) fn cursor(&self, place: &str) -> String {
        URL_SAFE_NO_PAD.encode(format!("{FORMAT}{}{place}", self.0))
    }

    /// The place that a cursor of this list names.
    pub(crate) fn place(&self, cursor: &str) -> Result<String, Failure> {
        let text = Some(cursor).filter(|cursor| cursor.len() <= MOST);
        let text = text.and_then(|cursor| URL_SAFE_NO_PAD.decode(cursor).ok());
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        let place = text.as_deref().and_then(|text| text.strip_prefix(FORMAT)?.strip_prefix(&self.0));
        place.map(str::to_owned).ok_or_else(wrong)
    }
}

/// The failure of a cursor that is none, or another list's.
pub(crate) fn wrong() -> Failure {
    Failure::unprocessable("this cursor is not one of this list; begin without one")
}

/// A page: its body as it would be without pages, and in headers where the next one is.
pub(crate) struct Paged<T> {
    body: T,
    next: Option<(String, String)>,
}

impl<T> Paged<T> {
    /// The page that was asked for at `uri`, and the cursor of the next.
    pub(crate) fn new(body: T, uri: &Uri, next: Option<String>) -> Self {
        Self { body, next: next.map(|cursor| (link(uri, &cursor), cursor)) }
    }
}

/// The same request for the next page, as a relative reference: from where the caller sees this gateway is not known here.
fn link(uri: &Uri, cursor: &str) -> String {
    let pairs = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let others = pairs.filter(|pair| *pair != "cursor" && !pair.starts_with("cursor="));
    let query: Vec<String> = others.map(str::to_owned).chain([format!("cursor={cursor}")]).collect();
    format!("<{}?{}>; rel=\"next\"", uri.path(), query.join("&"))
}

impl<T: Serialize> IntoResponse for Paged<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.body).into_response();
        if let Some((link, cursor)) = self.next {
            // What a request brought as a URI is visible ASCII.
            let texts = [(header::LINK, link), (NEXT, cursor)];
            let headers =
                texts.into_iter().filter_map(|(name, text)| Some((name, HeaderValue::try_from(text).ok()?)));
            response.headers_mut().extend(headers);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back_to_its_place_in_its_own_list_only() {
        let list = List::new("tasks", &["local:default", "t1"]);
        for place in ["", "mcp-task-1", "ü|#", &"x".repeat(700)] {
            let cursor = list.cursor(place);
            assert!(cursor.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'), "{cursor}");
            assert_eq!(list.place(&cursor).unwrap(), place);
        }
        let cursor = list.cursor("x");
        for other in [&["local:default", "t2"][..], &["local:defaultt", "1"], &["key:a", "t1"]] {
            assert!(List::new("tasks", other).place(&cursor).is_err(), "{other:?}");
        }
        assert!(List::new("events", &["local:default", "t1"]).place(&cursor).is_err());
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        let list = List::new("tasks", &["u", "t"]);
        let whole = list.cursor("place");
        for wrong in
            ["", "0", "null", "ü", "====", &whole[1..], &whole[..20], &format!("{whole}="), &"A".repeat(5000)]
        {
            assert!(list.place(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_next_page_is_the_same_request_with_another_cursor() {
        let of = |uri: &str| link(&uri.parse().unwrap(), "C");
        assert_eq!(of("/a/b"), "</a/b?cursor=C>; rel=\"next\"");
        assert_eq!(
            of("http://h/a?limit=2&cursor=B&status=x"),
            "</a?limit=2&status=x&cursor=C>; rel=\"next\""
        );
        assert_eq!(of("/a?cursor&&cursors=1"), "</a?cursors=1&cursor=C>; rel=\"next\"");
    }
}
