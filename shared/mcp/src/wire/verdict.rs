//! Whether a server that answered with an error may have acted all the same.
//!
//! `Refused` means that it certainly did nothing: a submission that is refused is forgotten, so a wrong `Refused` leaves
//! a task running that nobody tracks. It is therefore a short list, and all else is `Broken`: servers and the proxies
//! before them answer "internal error" after they acted, too.
//!
//! | HTTP status | JSON-RPC error | fault |
//! |---|---|---|
//! | 303, 408, 500 and above | any or none | `Broken` |
//! | 401, 403, 429 | any or none | `Refused`: not let in |
//! | other 3xx | not read | `Refused` |
//! | other 4xx | none | `Refused` |
//! | 404 | -32000, -32001 | `Refused`: the session is not known |
//! | any other, or an event | -32700, -32600, -32601, -32602, -32020, -32021, -32022 | `Refused` |
//! | any other, or an event | any other code, no number, or broken off | `Broken` |
//!
//! 303 tells where to read what the request has done. -32001 alone is no session that is not known: some SDKs use it for
//! a request that ran out of time.

use pudu_app::ports::CallFault;
use rmcp::model::ErrorCode;

/// The errors by which a server says that it did not begin: it could not read the request, or did not take it.
const NOT_BEGUN: [ErrorCode; 7] = [
    ErrorCode::PARSE_ERROR,
    ErrorCode::INVALID_REQUEST,
    ErrorCode::METHOD_NOT_FOUND,
    ErrorCode::INVALID_PARAMS,
    ErrorCode::HEADER_MISMATCH,
    ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
    ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
];

/// With HTTP 404: the session is not known. The specification fixes the status; these are the codes that servers give.
pub(super) const NO_SESSION: [i64; 2] = [-32000, -32001];

/// An unsuccessful status without a JSON-RPC error.
pub(super) fn of_status(status: u16) -> CallFault {
    match status {
        303 | 408 => CallFault::Broken,
        300..=499 => CallFault::Refused,
        _ => CallFault::Broken,
    }
}

/// A JSON-RPC error, with the status that it came with when that was unsuccessful.
pub(super) fn of_error(status: Option<u16>, code: Option<i64>) -> CallFault {
    let not_begun = code.is_some_and(|code| NOT_BEGUN.iter().any(|known| i64::from(known.0) == code));
    let no_session = status == Some(404) && code.is_some_and(|code| NO_SESSION.contains(&code));
    match status {
        Some(401 | 403 | 429) => CallFault::Refused,
        Some(status) if of_status(status) == CallFault::Broken => CallFault::Broken,
        _ if not_begun || no_session => CallFault::Refused,
        _ => CallFault::Broken,
    }
}
