//! From where one may come in: a browser page or another host must not reach a gateway on one machine.

use axum::extract::Request;
use http::{HeaderMap, Method, StatusCode, Uri, header};

use super::origins::Origins;
use crate::error::Failure;

/// What stands in front of the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// It may be called from anywhere: each caller shows a credential.
    Anywhere,
    /// Only this machine may call, also where callers are not told apart.
    Loopback,
}

/// Checks Host, Origin and content type.
pub(super) fn check(door: Door, origins: &Origins, request: &Request) -> Result<(), Failure> {
    match door {
        Door::Anywhere => Ok(()),
        Door::Loopback => loopback(request.uri(), request.headers(), origins),
    }?;
    json_only(request.method(), request.headers())
}

fn loopback(uri: &Uri, headers: &HeaderMap, origins: &Origins) -> Result<(), Failure> {
    let refused = |what: &str| Failure::new(StatusCode::FORBIDDEN, format!("{what} is not this machine"));
    // All of them: which of two headers somebody else reads is not known.
    let hosts: Vec<&str> =
        headers.get_all(header::HOST).iter().map(|h| h.to_str().unwrap_or_default()).collect();
    let named = if hosts.is_empty() { uri.host().into_iter().collect() } else { hosts };
    if named.is_empty() || !named.into_iter().all(is_loopback) {
        return Err(refused("the Host header"));
    }
    for origin in headers.get_all(header::ORIGIN) {
        let text = origin.to_str().ok();
        let host = text.and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
        if !host.is_some_and(is_loopback) && !origins.has(origin) {
            return Err(refused("the Origin header"));
        }
    }
    Ok(())
}

/// Whether `authority` (a host, perhaps with a port) is a loopback name or address.
fn is_loopback(authority: &str) -> bool {
    let Ok(authority) = authority.parse::<http::uri::Authority>() else { return false };
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A form or a script in a page can send other types without asking first.
fn json_only(method: &Method, headers: &HeaderMap) -> Result<(), Failure> {
    if !matches!(*method, Method::POST | Method::PUT | Method::PATCH) {
        return Ok(());
    }
    let empty = headers.get(header::CONTENT_LENGTH).is_some_and(|length| length.as_bytes() == b"0");
    match headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default()) {
        Some(kind)
            if kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") =>
        {
            Ok(())
        }
        None if empty
            || !headers.contains_key(header::TRANSFER_ENCODING)
                && !headers.contains_key(header::CONTENT_LENGTH) =>
        {
            Ok(())
        }
        _ => Err(Failure::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send the body as Content-Type: application/json",
        )),
    }
}

#[cfg(test)]
mod tests;
