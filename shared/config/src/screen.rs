//! What the API does not take although a file may say it.

use serde_json::Value;

use crate::canonical::alike;
use crate::document::{Document, SERVERS};
use crate::launch::{LaunchPolicy, Place, Refusal};
use crate::path::Path;
use crate::problem::{Kind, Problem};
use crate::server::{Server, Transport};

/// Refusals for a config that comes through the API, one per server, against the config that is `stored`. The operator's
/// own file is never screened.
///
/// Every stdio server is screened by `policy`, enabled or not (reference 9), unless it is stored exactly so: sending a GET
/// back must work. As in the reference the type is compared without case. An http or sse server needs its URL. Other types
/// are stored and never connected.
pub fn api_screen(document: &Document, stored: Option<&Document>, policy: &LaunchPolicy) -> Vec<Problem> {
    let refused = |server: &Server| {
        let same = |stored: &Server| alike(&stored.effective_entry(), &server.effective_entry());
        let unchanged = || stored.and_then(|stored| stored.server(&server.name)).is_some_and(same);
        screen(server, policy).filter(|_| !is_stdio(server) || !unchanged())
    };
    document.servers().iter().filter_map(refused).collect()
}

fn screen(server: &Server, policy: &LaunchPolicy) -> Option<Problem> {
    let path = Path::default().key(SERVERS).key(&server.name);
    let policy_problem = |path: &Path, message: String| Problem::new(Kind::Policy, path, message);
    match &server.transport {
        _ if is_stdio(server) => {
            let Refusal { place, why } = judge(server, policy)?;
            let at = match place {
                Place::Command => path.key("command"),
                Place::Arg(index) => path.key("args").index(index),
                Place::Env(name) => path.key("env").key(&name),
                Place::Environment => path.key("env"),
            };
            Some(policy_problem(&at, why.to_string()))
        }
        Transport::Http(remote) | Transport::Sse(remote) if remote.url.is_none() => {
            let kind = server.transport.name();
            Some(policy_problem(&path, format!("a server of type '{kind}' requires 'url' field")))
        }
        _ => None,
    }
}

fn is_stdio(server: &Server) -> bool {
    server.transport.name().eq_ignore_ascii_case("stdio")
}

/// From the raw entry: a type in other spelling is no [`Transport::Stdio`] and screened all the same.
fn judge(server: &Server, policy: &LaunchPolicy) -> Option<Refusal> {
    let entry = server.effective_entry();
    let texts = entry.get("args").and_then(Value::as_array).into_iter().flatten();
    let args: Vec<&str> = texts.filter_map(Value::as_str).collect();
    let names = entry.get("env").and_then(Value::as_object).into_iter().flatten();
    let env: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
    policy.judge(entry.get("command").and_then(Value::as_str), &args, &env).err()
}
