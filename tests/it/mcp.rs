//! `/mcp` on the wire: what clients of both eras send, byte for byte, and what they get.

mod callers;
mod calls;
mod eras;
mod lists;
mod relays;
mod tasks;

use acceptance::{Answer, World, request, send};
use axum::Router;
use http::header::HeaderName;
use http::{HeaderValue, Method};
use serde_json::{Map, Value, json};

/// The revision without a handshake.
const NEWEST: &str = "2026-07-28";
/// The extension by which calls become tasks.
const TASKS: &str = "io.modelcontextprotocol/tasks";
/// Those with one.
const OLDER: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// A client of the endpoint.
struct Client<'w> {
    world: &'w World,
    version: &'static str,
    capabilities: Value,
}

impl<'w> Client<'w> {
    /// One of the newest revision that can do nothing out of the ordinary.
    fn newest(world: &'w World) -> Self {
        Self { world, version: NEWEST, capabilities: json!({}) }
    }

    /// One of that revision with a handshake.
    fn older(world: &'w World, version: &'static str) -> Self {
        Self { world, version, capabilities: json!({}) }
    }

    /// The parameters and headers of a request as its revision wants them.
    fn dressed(&self, method: &str, params: &Value) -> (Value, Vec<(String, String)>) {
        let mut params = params.clone();
        let mut headers = vec![("mcp-protocol-version".to_owned(), self.version.to_owned())];
        if self.version == NEWEST {
            let mut meta = params.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
            meta.extend(self.meta());
            params["_meta"] = Value::Object(meta);
            headers.push(("mcp-method".to_owned(), method.to_owned()));
            let name = params.get("name").or_else(|| params.get("taskId")).and_then(Value::as_str);
            headers.extend(name.map(|name| ("mcp-name".to_owned(), name.to_owned())));
        }
        (params, headers)
    }

    fn meta(&self) -> Map<String, Value> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": self.version,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        });
        meta.as_object().unwrap().clone()
    }

    /// Sends a request.
    async fn ask(&self, method: &str, params: Value) -> Answer {
        let (params, headers) = self.dressed(method, &params);
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        post(self.world, &body.to_string(), &headers).await
    }

    /// The result of a request.
    async fn result(&self, method: &str, params: Value) -> Value {
        let said = self.ask(method, params).await.expect(200);
        assert_eq!((&said["jsonrpc"], &said["id"]), (&json!("2.0"), &json!(7)), "{said}");
        said["result"].clone()
    }

    /// The code and the text of the error of a request, after checking the status.
    async fn refused(&self, status: u16, method: &str, params: Value) -> (i64, String) {
        let said = self.ask(method, params).await.expect(status);
        assert_eq!(said["id"], json!(7), "{said}");
        error(&said)
    }

    /// The result of a call.
    async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({"name": tool, "arguments": arguments})).await
    }
}

/// The code and the text of an error.
fn error(said: &Value) -> (i64, String) {
    let error = &said["error"];
    (
        error["code"].as_i64().unwrap_or_else(|| panic!("{said}")),
        error["message"].as_str().unwrap().to_owned(),
    )
}

/// Sends a body as it is.
async fn post(world: &World, body: &str, headers: &[(String, String)]) -> Answer {
    post_to(&world.gateway, body, headers).await
}

/// Sends a body as it is to this door.
async fn post_to(door: &Router, body: &str, headers: &[(String, String)]) -> Answer {
    let mut request = request(Method::POST, "/mcp", None).map(|_| axum::body::Body::from(body.to_owned()));
    let all = request.headers_mut();
    all.insert("content-type", HeaderValue::from_static("application/json"));
    all.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
    for (name, value) in headers {
        all.append(HeaderName::try_from(name).unwrap(), HeaderValue::from_str(value).unwrap());
    }
    send(door, request).await
}
