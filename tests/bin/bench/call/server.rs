//! An echo server made with the SDK that speaks one era, and counts what reaches it.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::serve::ListenerExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// What a server speaks.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Speaks {
    /// 2026-07-28.
    Newest,
    /// 2025-11-25, with sessions.
    Sessions,
}

impl Speaks {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Newest => "2026-07-28",
            Self::Sessions => "2025-11-25",
        }
    }

    pub(super) fn version(self) -> ProtocolVersion {
        match self {
            Self::Newest => ProtocolVersion::V_2026_07_28,
            Self::Sessions => ProtocolVersion::V_2025_11_25,
        }
    }
}

/// A running server; it ends when dropped.
pub(super) struct EchoServer {
    pub(super) url: String,
    requests: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
    _serving: JoinSet<std::io::Result<()>>,
}

impl EchoServer {
    pub(super) async fn start(speaks: Speaks) -> anyhow::Result<Self> {
        let (requests, connections) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(speaks == Speaks::Sessions)
            .with_json_response(true)
            .with_sse_keep_alive(None);
        let sessions = Arc::new(LocalSessionManager::default());
        let service = StreamableHttpService::new(move || Ok(Echo(speaks)), sessions, config);
        let counter = Arc::clone(&requests);
        let count = move |request: Request, next: Next| {
            counter.fetch_add(1, Ordering::Relaxed);
            next.run(request)
        };
        let app = Router::new().fallback_service(service).layer(from_fn(count));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/mcp", listener.local_addr()?);
        let counter = Arc::clone(&connections);
        let listener = listener.tap_io(move |connection| {
            counter.fetch_add(1, Ordering::Relaxed);
            let _ = connection.set_nodelay(true);
        });
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await });
        Ok(Self { url, requests, connections, _serving: serving })
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(super) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }
}

struct Echo(Speaks);

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("echo", "1"))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Owned(vec![self.0.version()])
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::default())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::structured(Value::Object(request.arguments.unwrap_or_default())).into())
    }
}
