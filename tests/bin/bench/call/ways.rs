//! The ways to make the same call.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use async_trait::async_trait;
use http::{HeaderMap, HeaderName, HeaderValue};
use pudu_app::ports::{Caller, McpClient, ToolCall};
use pudu_config::{Document, NoSecrets, Server};
use pudu_domain::{ThreadId, ThreadKey, UserId};
use pudu_mcp::{Client, Egress};
use pudu_testkit::fixture::token_ports;
use rmcp::ServiceExt;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ServerCapabilities,
    ServerPeerInfo,
};
use rmcp::service::{RoleClient, RunningService, serve_directly};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Map, Value, json};

use super::server::Speaks;

const LIMIT: Duration = Duration::from_secs(30);
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// One way to call `echo`; an answer that is not the echo is an error.
#[async_trait]
pub(super) trait Way {
    async fn call(&self) -> anyhow::Result<()>;
}

pub(crate) fn arguments() -> Map<String, Value> {
    Map::from_iter([("text".to_owned(), Value::String("The smallest deer".to_owned()))])
}

pub(crate) fn check(result: &Value) -> anyhow::Result<()> {
    let said = result.pointer("/structuredContent/text").and_then(Value::as_str);
    ensure!(said == Some("The smallest deer"), "no echo: {result}");
    Ok(())
}

/// The client as the gateway has it.
pub(super) struct Pudu {
    client: Client,
    server: Server,
    caller: Caller,
}

impl Pudu {
    pub(super) fn of(url: &str) -> anyhow::Result<Self> {
        let document = Document::parse(json!({"mcpServers": {"echo": {"type": "http", "url": url}}}))
            .map_err(|problems| anyhow::anyhow!("{problems:?}"))?;
        let server = document.server("echo").context("the server is configured")?.clone();
        let thread = ThreadKey { user: UserId::parse("local:default")?, thread: ThreadId::parse("bench")? };
        let client = Client::new(Arc::new(NoSecrets), Egress::machine(), token_ports())?;
        Ok(Self { client, server, caller: Caller::of(thread) })
    }
}

#[async_trait]
impl Way for Pudu {
    async fn call(&self) -> anyhow::Result<()> {
        let call = ToolCall::plain("echo", arguments());
        check(&self.client.call_tool(&self.server, &self.caller, call, LIMIT).await?)
    }
}

/// A session of the SDK that lives as long as the bench.
pub(super) struct Sdk(RunningService<RoleClient, ClientConfig>);

impl Sdk {
    pub(super) async fn connect(url: &str, speaks: Speaks) -> anyhow::Result<Self> {
        let config = StreamableHttpClientTransportConfig::with_uri(url);
        let transport = StreamableHttpClientTransport::with_client(http()?, config);
        let client = ClientConfig::new(ClientCapabilities::default(), Implementation::new("bench", "1"));
        Ok(Self(match speaks {
            Speaks::Newest => {
                let peer = ServerPeerInfo::new(speaks.version(), ServerCapabilities::default());
                serve_directly(client, transport, Some(peer))
            }
            Speaks::Sessions => client.with_protocol_version(speaks.version()).serve(transport).await?,
        }))
    }
}

#[async_trait]
impl Way for Sdk {
    async fn call(&self) -> anyhow::Result<()> {
        let result = self.0.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments())).await?;
        check(&json!({"structuredContent": result.structured_content}))
    }
}

/// The bytes of one request, sent again and again.
pub(crate) struct Raw {
    http: reqwest::Client,
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Raw {
    pub(crate) async fn connect(url: &str, speaks: Speaks) -> anyhow::Result<Self> {
        let revision = speaks.name();
        let mut headers = HeaderMap::from_iter([
            (http::header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (http::header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream")),
            (HeaderName::from_static("mcp-protocol-version"), HeaderValue::from_static(revision)),
        ]);
        let mut params = json!({"name": "echo", "arguments": arguments()});
        let about = json!({"name": "bench", "version": "1"});
        let http = http()?;
        match speaks {
            Speaks::Newest => {
                let prefix = "io.modelcontextprotocol/";
                let meta = json!({
                    format!("{prefix}protocolVersion"): revision,
                    format!("{prefix}clientInfo"): about,
                    format!("{prefix}clientCapabilities"): {},
                });
                params.as_object_mut().context("an object")?.insert("_meta".to_owned(), meta);
                headers.insert(HeaderName::from_static("mcp-method"), HeaderValue::from_static("tools/call"));
                headers.insert(HeaderName::from_static("mcp-name"), HeaderValue::from_static("echo"));
            }
            Speaks::Sessions => {
                let hello = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": about});
                let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello});
                let opened = http
                    .post(url)
                    .headers(headers.clone())
                    .json(&message)
                    .send()
                    .await?
                    .error_for_status()?;
                let session = opened.headers().get(SESSION).context("a session")?.clone();
                opened.bytes().await?;
                headers.insert(SESSION, session);
                let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
                http.post(url)
                    .headers(headers.clone())
                    .json(&ready)
                    .send()
                    .await?
                    .error_for_status()?
                    .bytes()
                    .await?;
            }
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        Ok(Self { http, url: url.to_owned(), headers, body })
    }
}

#[async_trait]
impl Way for Raw {
    async fn call(&self) -> anyhow::Result<()> {
        let request = self.http.post(&self.url).headers(self.headers.clone()).body(self.body.clone());
        let bytes = request.send().await?.error_for_status()?.bytes().await?;
        // A session's server may answer by a stream although it was asked for JSON.
        let text = std::str::from_utf8(&bytes)?;
        let json = text.lines().find_map(|line| line.strip_prefix("data: {")).map(|rest| format!("{{{rest}"));
        let answer: Value = serde_json::from_str(json.as_deref().unwrap_or(text))?;
        check(answer.get("result").context("a result")?)
    }
}

/// The same HTTP client for the SDK and for the raw way; Pudu brings its own.
fn http() -> anyhow::Result<reqwest::Client> {
    Ok(reqwest::Client::builder().no_proxy().http1_only().tcp_nodelay(true).build()?)
}
