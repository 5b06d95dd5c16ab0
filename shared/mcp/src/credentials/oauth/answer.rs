//! What a token server's answer means (reference 5.4): pure.

use std::time::Duration;

use http::StatusCode;
use pudu_config::{GrantType, ResolvedOauth, illegal_value};
use secrecy::SecretString;
use serde_json::{Map, Value};

/// The lifetime when the answer does not say it.
const USUAL_LIFETIME: u64 = 3600;
/// A lifetime beyond it is taken as this: nobody counts on a token for longer.
const LONGEST_LIFETIME: u64 = 10 * 365 * 24 * 3600;
/// Most bytes of a token. More fits into no header, and two of them would not fit into their row.
const MAX_TOKEN_BYTES: usize = 32 * 1024;
/// The names of errors that may be told; any other text is the token server's, and may hold anything.
const ERRORS: [&str; 8] = [
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
    "invalid_target",
    "temporarily_unavailable",
];

/// What became of a request.
pub(super) enum Answer {
    /// A token.
    Granted {
        /// The whole header value, legal.
        header: SecretString,
        /// The refresh token that replaces the one that was sent.
        refresh: Option<SecretString>,
        /// For how long.
        lifetime: Duration,
    },
    /// The grant is refused for good.
    Refused(String),
    /// No token this time.
    Failed(String),
}

/// Reads an answer.
pub(super) fn read(oauth: &ResolvedOauth, status: StatusCode, body: &[u8]) -> Answer {
    let fields = match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Some(fields),
        _ => None,
    };
    if !status.is_success() {
        return refusal(status, fields.as_ref());
    }
    let Some(fields) = fields else {
        return Answer::Failed("the token server answered with something that is no JSON object".to_owned());
    };
    let text = |field: &str| fields.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let Some(token) = text(&oauth.token_field) else {
        // Some token servers say no with HTTP 200.
        if fields.contains_key("error") {
            return refusal(status, Some(&fields));
        }
        return Answer::Failed(format!("the token server's answer has no '{}'", oauth.token_field));
    };
    let kind = text(&oauth.token_type_field).unwrap_or(&oauth.default_token_type);
    // Schemes are case-insensitive, and many MCP servers compare them as they stand; the MCP specification writes it so.
    let kind = if kind.eq_ignore_ascii_case("bearer") { "Bearer" } else { kind };
    // The rendered value, and not the token: it is what is sent (vector 52).
    let header = format!("{kind} {token}");
    if let Some(reason) = illegal_value(&header) {
        return Answer::Failed(format!("the token server's token cannot be sent as a header: {reason}"));
    }
    let rotated = if oauth.grant_type == GrantType::RefreshToken { text("refresh_token") } else { None };
    if header.len().max(rotated.map_or(0, str::len)) > MAX_TOKEN_BYTES {
        return Answer::Failed(format!("the token server's token is longer than {MAX_TOKEN_BYTES} bytes"));
    }
    Answer::Granted {
        header: SecretString::from(header),
        refresh: rotated.map(SecretString::from),
        lifetime: lifetime(fields.get(&oauth.expires_in_field)),
    }
}

fn refusal(status: StatusCode, fields: Option<&Map<String, Value>>) -> Answer {
    let said = fields.and_then(|fields| fields.get("error")).and_then(Value::as_str);
    let known = said.and_then(|said| ERRORS.into_iter().find(|error| *error == said));
    let number = status.as_u16();
    match known {
        Some("invalid_grant") => Answer::Refused(
            "the token server refused the grant for good (invalid_grant); give this server a new credential in 'oauth'"
                .to_owned(),
        ),
        Some(error) => Answer::Failed(format!("the token server answered HTTP {number} ({error}); check 'oauth'")),
        None => Answer::Failed(format!("the token server answered HTTP {number}; check 'oauth.token_url'")),
    }
}

/// Seconds as a whole number, also as text; anything else is the usual lifetime, and none is shorter than a second.
fn lifetime(value: Option<&Value>) -> Duration {
    let given = match value {
        Some(Value::Number(number)) => number.as_i64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    let seconds = given.map_or(USUAL_LIFETIME, |seconds| u64::try_from(seconds).unwrap_or(0));
    Duration::from_secs(seconds.clamp(1, LONGEST_LIFETIME))
}

#[cfg(test)]
mod tests;
