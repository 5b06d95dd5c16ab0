//! The client under test of the official MCP conformance suite: an operator's entry for one server and an agent's calls to
//! it, through [`pudu_mcp::Client`] as every caller makes them. `scripts/conformance client` runs it.
//!
//! The suite gives the server's URL as the last argument and, where a scenario needs more, a JSON object in the
//! environment: credentials, or the calls to make. Credentials become the entry's `oauth` block, without a `token_url`: the
//! token endpoint is found by the server's own metadata.
#![expect(clippy::print_stderr, reason = "the suite shows what a failed client said")]

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use pudu_app::ports::{Caller, Clock, Listing, McpClient, RawTool, TokenPorts, ToolCall};
use pudu_config::{Document, NoSecrets, Server};
use pudu_domain::{ThreadId, ThreadKey, UserId};
use pudu_lambda::clock::SystemClock;
use pudu_lambda::env::{Process, Source};
use pudu_lambda::random::OsRandom;
use pudu_mcp::{Client, Egress};
use pudu_testkit::{FakeTable, FixedKeys, Gate};
use serde_json::{Map, Value, json};

/// Longer than any scenario takes, shorter than the suite's own limit of 30 s.
const LIMIT: Duration = Duration::from_secs(20);
const SERVER: &str = "peer";

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let url = std::env::args().next_back().context("the server's URL is the last argument")?;
    let given = match Process.get("MCP_CONFORMANCE_CONTEXT") {
        Some(text) => serde_json::from_str(&text).context("MCP_CONFORMANCE_CONTEXT is JSON")?,
        None => json!({}),
    };
    let server = entry(&url, &given)?;
    let client = Client::new(Arc::new(NoSecrets), Egress::machine(), tokens())?;
    let user = UserId::parse("local:default")?;
    let caller = Caller::of(ThreadKey { user, thread: ThreadId::parse("conformance")? });

    let listing = client.list_tools(&server, LIMIT).await?;
    let mut failed = 0;
    let scenario = Process.get("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    for call in calls(&scenario, &listing, &given) {
        let name = call.tool.clone();
        match client.call_tool(&server, &caller, call, LIMIT).await {
            Ok(result) => eprintln!("{name}: {result}"),
            Err(error) => {
                eprintln!("{name}: {error}");
                failed += 1;
            }
        }
    }
    anyhow::ensure!(failed == 0, "{failed} calls failed");
    Ok(())
}

/// Tokens for the time of one scenario, by the real clock: a token server compares it with an assertion's.
fn tokens() -> TokenPorts {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = FakeTable::new().store(Arc::clone(&clock), Gate::open());
    TokenPorts { store: Arc::new(store), keys: Arc::new(FixedKeys), clock, random: Arc::new(OsRandom) }
}

/// The server as an operator registers it.
fn entry(url: &str, given: &Value) -> anyhow::Result<Server> {
    // Without credentials it is null, as an operator may write it.
    let entry = json!({"type": "http", "url": url, "oauth": oauth(given)});
    let document = Document::parse(json!({"mcpServers": {SERVER: entry}}))
        .map_err(|problems| anyhow::anyhow!("{problems:?}"))?;
    Ok(document.server(SERVER).context("the entry is there")?.clone())
}

/// The `oauth` block for the client's own credentials, where the scenario gives some. Its token endpoint is found by the
/// server's metadata, as for any entry without `token_url`.
fn oauth(given: &Value) -> Option<Value> {
    let id = given.get("client_id")?;
    let own = |field: &str| given.get(field).cloned().unwrap_or_default();
    Some(match given.get("private_key_pem") {
        Some(key) => json!({
            "client_id": id, "token_endpoint_auth_method": "private_key_jwt",
            "private_key": key, "signing_algorithm": own("signing_algorithm"),
        }),
        None => json!({"client_id": id, "client_secret": own("client_secret")}),
    })
}

/// The calls that the scenario names, else each tool once.
fn calls(scenario: &str, listing: &Listing, given: &Value) -> Vec<ToolCall> {
    let of = |tool: &RawTool, arguments: Map<String, Value>| ToolCall {
        tool: tool.name.clone(),
        arguments,
        definition: Some(Arc::new(tool.definition.clone())),
        tasks: None,
    };
    let named = |name: &str| listing.tools.iter().find(|tool| tool.name == name);
    match scenario {
        // It asks for one call: a tool's schema as this client received it, given back.
        "json-schema-2020-12-preservation" => {
            let seen = named("json_schema_2020_12_tool").and_then(|tool| tool.definition.get("inputSchema"));
            let arguments = seen.map(|schema| Map::from_iter([("schema".to_owned(), schema.clone())]));
            return named("json_schema_echo")
                .zip(arguments)
                .map(|(tool, arguments)| of(tool, arguments))
                .into_iter()
                .collect();
        }
        // Its server lists a tool and has no calls.
        "json-schema-ref-no-deref" => return Vec::new(),
        _ => {}
    }
    let Some(wanted) = given.get("toolCalls").and_then(Value::as_array) else {
        return listing.tools.iter().map(|tool| of(tool, sample(&tool.definition))).collect();
    };
    let find = |call: &Value| {
        let tool = named(call.get("name")?.as_str()?)?;
        Some(of(tool, call.get("arguments")?.as_object()?.clone()))
    };
    wanted.iter().filter_map(find).collect()
}

/// Arguments that fit a tool's schema as far as its required properties go.
fn sample(definition: &Value) -> Map<String, Value> {
    let schema = definition.get("inputSchema");
    let required = schema.and_then(|schema| schema.get("required")).and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let kind = |name: &str| schema?.get("properties")?.get(name)?.get("type")?.as_str();
    let value = |name: &str| match kind(name) {
        Some("integer" | "number") => json!(5),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        Some("null") => Value::Null,
        _ => json!("deer"),
    };
    required.map(|name| (name.to_owned(), value(name))).collect()
}
