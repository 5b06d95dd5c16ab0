//! A server made with the SDK, restricted to chosen revisions, with its requests counted.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

use super::host::{Host, Seen};

#[derive(Clone)]
pub(super) struct SdkPeer {
    pub(super) versions: Vec<ProtocolVersion>,
    pub(super) sessions: bool,
    pub(super) json: bool,
}

impl SdkPeer {
    pub(super) async fn start(self) -> Host {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(self.sessions)
            .with_json_response(self.json)
            .with_sse_keep_alive(None);
        let sessions = Arc::new(LocalSessionManager::default());
        let service = StreamableHttpService::new(move || Ok(self.clone()), sessions, config);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let app =
            Router::new().fallback_service(service).layer(from_fn_with_state(Arc::clone(&seen), record));
        Host::serving(app, seen).await
    }
}

async fn record(State(log): State<Arc<Mutex<Vec<Seen>>>>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.expect("a body");
    let message = serde_json::from_slice(&bytes).unwrap_or_default();
    log.lock().unwrap().push(Seen {
        http: head.method.clone(),
        path: head.uri.path().to_owned(),
        headers: head.headers.clone(),
        message,
        body: String::from_utf8_lossy(&bytes).into_owned(),
    });
    next.run(Request::from_parts(head, Body::from(bytes))).await
}

fn tool(name: &'static str) -> Tool {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    let Value::Object(schema) = schema else { unreachable!() };
    Tool::new(name, "a tool", Arc::new(schema))
}

impl ServerHandler for SdkPeer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("sdk-peer", "1"))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Owned(self.versions.clone())
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = page.and_then(|page| page.cursor);
        let (name, next) = match cursor.as_deref() {
            None => ("echo", Some("2")),
            Some("2") => ("second", Some("3")),
            _ => ("third", None),
        };
        let mut list = ListToolsResult::with_all_items(vec![tool(name)]);
        list.next_cursor = next.map(str::to_owned);
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != "echo" && request.name != "écho" {
            return Err(ErrorData::invalid_params("no such tool", None));
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        Ok(CallToolResult::structured(arguments).into())
    }
}
