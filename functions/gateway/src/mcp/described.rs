//! What the contract says of `/mcp`: the envelope only, because what is in it is the protocol's.

use serde_json::Value;
use utoipa::ToSchema;

/// A request, a notification or an answer of JSON-RPC 2.0.
#[derive(ToSchema)]
#[schema(example = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))]
#[expect(dead_code, reason = "it only describes: messages are read by hand, so that nothing in them is lost")]
pub(super) struct ClientMessage {
    /// `2.0`.
    #[schema(pattern = "^2\\.0$")]
    jsonrpc: String,
    /// Text or an integer; a notification has none.
    #[schema(nullable = false)]
    id: Option<Value>,
    /// Such as `tools/call`.
    #[schema(nullable = false)]
    method: Option<String>,
    /// An object.
    #[schema(value_type = Option<Object>, nullable = false)]
    params: Option<Value>,
}

/// The answer to a request.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes")]
pub(super) struct ServerMessage {
    /// `2.0`.
    jsonrpc: String,
    /// The request's; null when that could not be read.
    id: Value,
    #[schema(value_type = Option<Object>, nullable = false)]
    result: Option<Value>,
    #[schema(nullable = false)]
    error: Option<ErrorObject>,
}

/// An error of JSON-RPC.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes")]
pub(super) struct ErrorObject {
    code: i64,
    /// What is wrong, and what to do; never a secret.
    message: String,
    #[schema(nullable = false)]
    data: Option<Value>,
}
