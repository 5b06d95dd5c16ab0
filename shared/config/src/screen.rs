//! What the API does not take although a file may say it.

use crate::canonical::alike;
use crate::document::{Document, SERVERS};
use crate::path::Path;
use crate::problem::{Kind, Problem};
use crate::server::{Server, Transport};

const STDIO: &str = "stdio servers cannot be added or changed through the API yet; the operator's config file, or `pudu config import`, can say so";

/// Refusals for a config that comes through the API, one per server, against the config that is `stored`. The operator's
/// own file is never screened.
///
/// A stdio server is refused until its launch policy exists, unless it is stored exactly so (sending a GET back must
/// work) or is left out. As in the reference (section 9) the type is compared without case. An http or sse server needs
/// its URL. Other types are stored and never connected.
pub fn api_screen(document: &Document, stored: Option<&Document>) -> Vec<Problem> {
    let refused = |server: &Server| {
        let message = refusal(server, stored.and_then(|stored| stored.server(&server.name)))?;
        Some(Problem::new(Kind::Policy, &Path::default().key(SERVERS).key(&server.name), message))
    };
    document.servers().iter().filter_map(refused).collect()
}

fn refusal(server: &Server, stored: Option<&Server>) -> Option<&'static str> {
    match &server.transport {
        other if other.name().eq_ignore_ascii_case("stdio") => {
            let same = |stored: &Server| alike(&stored.effective_entry(), &server.effective_entry());
            (!stored.is_some_and(same)).then_some(STDIO)
        }
        Transport::Http(remote) if remote.url.is_none() => {
            Some("a server of type 'http' requires 'url' field")
        }
        Transport::Sse(remote) if remote.url.is_none() => Some("a server of type 'sse' requires 'url' field"),
        _ => None,
    }
}
