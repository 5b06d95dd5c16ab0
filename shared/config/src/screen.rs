//! What the API does not take although a file may say it.

use crate::document::{Document, SERVERS};
use crate::path::Path;
use crate::problem::{Kind, Problem};
use crate::server::Transport;

/// Refusals for a config that comes through the API, one per server. The operator's own file is never screened.
///
/// stdio and sse are refused until their launch policy and egress rule exist; as in the reference (section 9) the
/// type is compared without case. An http server needs its URL. Other types are stored and never connected.
pub fn api_screen(document: &Document) -> Vec<Problem> {
    let refused = |(name, message): (&String, &str)| {
        Problem::new(Kind::Policy, &Path::default().key(SERVERS).key(name), message)
    };
    document
        .servers()
        .iter()
        .filter_map(|server| {
            let kind = server.transport.name().to_ascii_lowercase();
            match &server.transport {
                _ if matches!(kind.as_str(), "stdio" | "sse") => Some((
                    &server.name,
                    "stdio and sse servers are not accepted through the API yet; use \"type\": \"http\"",
                )),
                Transport::Http(remote) if remote.url.is_none() => {
                    Some((&server.name, "a server of type 'http' requires 'url' field"))
                }
                _ => None,
            }
        })
        .map(refused)
        .collect()
}
