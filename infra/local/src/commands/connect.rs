//! `pudu mcp add`: what a client needs to find this Pudu. The key itself is shown only on request; else the configuration refers to
//! it, so that it can be shared and stored.

use anyhow::Context;
use serde_json::{Value, json};

use crate::cli::{Client, ConnectArgs};
use crate::folder::DataFolder;
use crate::say;

/// The environment variable that the configurations refer to.
const VARIABLE: &str = "PUDU_KEY";
/// The name under which clients know it.
const NAME: &str = "pudu";
/// Where it is when nobody says and none runs.
const USUAL: &str = "http://127.0.0.1:8080";

/// Prints it.
pub fn connect(args: &ConnectArgs) -> anyhow::Result<()> {
    let folder = DataFolder::new(&args.data_dir);
    let url = args.url.clone().unwrap_or_else(|| {
        folder.announced().map_or_else(|| USUAL.to_owned(), |run| format!("http://{}", run.address))
    });
    let url = format!("{}/mcp", url.trim_end_matches('/').trim_end_matches("/mcp"));
    let key = if args.show_key {
        let key = folder.admin_key()?.context("the data folder has no key; start Pudu once, it makes one")?;
        Some(key.expose().to_owned())
    } else {
        None
    };
    say::line(&configuration(args.client, &url, key.as_deref()));
    if key.is_none() {
        say::error(&hint(args.client, &folder));
    }
    Ok(())
}

/// What the client is given: a command, or a file's content.
fn configuration(client: Client, url: &str, key: Option<&str>) -> String {
    match client {
        // In the project's file, where the client itself puts in the variable; a shell would store the key.
        Client::Claude => {
            let bearer = key.map_or_else(|| format!("${{{VARIABLE}}}"), str::to_owned);
            format!(
                "claude mcp add --transport http --scope project --header 'Authorization: Bearer {bearer}' {NAME} {url}"
            )
        }
        Client::Cursor => {
            let bearer = key.map_or_else(|| format!("${{env:{VARIABLE}}}"), str::to_owned);
            pretty(
                &json!({"mcpServers": {NAME: {"url": url, "headers": {"Authorization": format!("Bearer {bearer}")}}}}),
            )
        }
        Client::Vscode => {
            let bearer = key.map_or_else(|| format!("${{input:{NAME}-key}}"), str::to_owned);
            let headers = json!({"Authorization": format!("Bearer {bearer}")});
            let mut file = json!({"servers": {NAME: {"type": "http", "url": url, "headers": headers}}});
            if key.is_none() {
                let id = format!("{NAME}-key");
                let asked = json!({"type": "promptString", "id": id, "description": "Pudu API key", "password": true});
                if let Some(fields) = file.as_object_mut() {
                    fields.insert("inputs".to_owned(), json!([asked]));
                }
            }
            pretty(&file)
        }
    }
}

/// Where it goes, and where the key comes from.
fn hint(client: Client, folder: &DataFolder) -> String {
    let key = folder.admin_key_file();
    let key = key.display();
    match client {
        Client::Claude => format!(
            "Run it in the project's folder, with {VARIABLE} in the environment: export {VARIABLE}=$(cat {key})"
        ),
        Client::Cursor => {
            format!(
                "Put it into ~/.cursor/mcp.json, and start Cursor with {VARIABLE} in its environment: export {VARIABLE}=$(cat {key})"
            )
        }
        Client::Vscode => {
            format!("Put it into .vscode/mcp.json; VS Code asks for the key, which is in {key}")
        }
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://127.0.0.1:8080/mcp";

    #[test]
    fn what_is_printed_refers_to_the_key_and_does_not_have_it() {
        let claude = configuration(Client::Claude, URL, None);
        assert_eq!(
            claude,
            "claude mcp add --transport http --scope project --header 'Authorization: Bearer ${PUDU_KEY}' pudu http://127.0.0.1:8080/mcp"
        );
        let cursor: Value = serde_json::from_str(&configuration(Client::Cursor, URL, None)).unwrap();
        assert_eq!(cursor["mcpServers"]["pudu"]["url"], URL);
        assert_eq!(cursor["mcpServers"]["pudu"]["headers"]["Authorization"], "Bearer ${env:PUDU_KEY}");
        let vscode: Value = serde_json::from_str(&configuration(Client::Vscode, URL, None)).unwrap();
        let server = &vscode["servers"]["pudu"];
        assert_eq!((&server["type"], &server["url"]), (&json!("http"), &json!(URL)));
        assert_eq!(
            server["headers"]["Authorization"],
            format!("Bearer ${{input:{}}}", vscode["inputs"][0]["id"].as_str().unwrap())
        );
        assert_eq!(vscode["inputs"][0]["password"], true);
    }

    #[test]
    fn the_key_is_shown_on_request() {
        for client in [Client::Claude, Client::Cursor, Client::Vscode] {
            let shown = configuration(client, URL, Some("pudu_x_y"));
            assert!(shown.contains("Bearer pudu_x_y") && !shown.contains("${"), "{shown}");
        }
    }
}
