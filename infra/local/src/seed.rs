//! The example server in a config that nobody has written yet. A user's config is never touched.

use anyhow::{Context, anyhow};
use pudu_app::configs::{Configs, Current};
use pudu_config::{Document, Problem};
use serde_json::{Value, json};

/// The example server's name in the config.
pub const SERVER: &str = "example";

/// The name of its durable task.
pub const TASK: &str = "report";

/// A server map with the example server, listening at `url`, as `name`.
pub fn servers(name: &str, url: &str) -> Value {
    json!({
        "mcpServers": {
            name: {
                "type": "http",
                "url": url,
                "description": "The example server that `pudu` starts on this machine",
                "task_toolsets": [{
                    "name": TASK,
                    "submit_tool": "submit_report",
                    "status_tool": "get_report_status",
                    "cancel_tool": "cancel_report",
                    "input_tool": "answer_report",
                }],
            }
        }
    })
}

/// Stores the example server as revision 1 if nothing was ever stored; whether it did.
pub async fn seed(configs: &Configs, url: &str) -> anyhow::Result<bool> {
    let document = Document::parse(servers(SERVER, url)).map_err(|problems| told(&problems))?;
    configs.seed(document).await.context("the config cannot be read, or the example server not stored in it")
}

/// What to tell when the stored config has the example server at another address than `url`; none when it is right, or
/// when the config's `example` is somebody else's server.
pub fn moved(current: &Current, url: &str) -> Option<String> {
    let entry = current.document.expose_raw().get("mcpServers")?.get(SERVER)?;
    let stored = entry.get("url")?.as_str()?;
    let own = reqwest::Url::parse(stored).is_ok_and(|stored| {
        stored.host_str().is_some_and(|host| matches!(host, "127.0.0.1" | "localhost" | "[::1]"))
            && stored.path() == crate::example::PATH
    });
    // Only the port can differ between two addresses of ours, so nothing of a user's own URL is shown.
    let port = |url: &str| reqwest::Url::parse(url).ok().and_then(|url| url.port_or_known_default());
    let (stored, now) = (port(stored)?, port(url)?);
    (own && stored != now).then(|| {
        format!(
            "note: the stored config expects the example server on port {stored}, but it listens on {now}: start with --example-port {stored}, or change the config"
        )
    })
}

fn told(problems: &[Problem]) -> anyhow::Error {
    anyhow!(
        "the example server's entry is wrong: {}",
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )
}

#[cfg(test)]
mod tests;
