//! The example server's reports behind the tasks extension of 2026-07-28: the same ledger, another door. One tool, whose every
//! call becomes a task; a cancel is only acknowledged, and a question is a form.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::State as Shared;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use http::StatusCode;
use pudu::example::{Example, Order, PATH, Question, Report, State};
use pudu_app::ports::Clock;
use pudu_lambda::clock::SystemClock;
use serde_json::{Value, json};

use super::TOOL;

/// JSON-RPC's codes for what is wrong with a request.
const INVALID_PARAMS: i64 = -32602;
const NO_SUCH_METHOD: i64 = -32601;
const INTERNAL: i64 = -32603;

#[derive(Clone)]
struct Server {
    example: Example,
    /// Questions about a task that were answered.
    asked: Arc<AtomicU64>,
}

type Answered = Result<Value, (i64, String)>;

/// The endpoint of `example` in this protocol.
pub(super) fn router(example: Example, asked: Arc<AtomicU64>) -> Router {
    let endpoint = axum::routing::post(answer);
    Router::new().route(PATH, endpoint).with_state(Server { example, asked })
}

async fn answer(Shared(server): Shared<Server>, Json(message): Json<Value>) -> Response {
    let Some(id) = message.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let params = message.get("params").cloned().unwrap_or_default();
    let answered = match message.get("method").and_then(Value::as_str).unwrap_or_default() {
        "server/discover" => Ok(json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
            "serverInfo": {"name": "reports", "version": "1"},
        })),
        "tools/list" => Ok(json!({
            "resultType": "complete",
            "tools": [{"name": TOOL, "description": "Writes a report.", "inputSchema": {"type": "object"}}],
        })),
        "tools/call" => server.call(&params).await,
        "tasks/get" => server.get(&params).await,
        "tasks/cancel" => server.cancel(&params).await,
        method => Err((NO_SUCH_METHOD, format!("there is no method {method}"))),
    };
    Json(match answered {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, message)) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
        }
    })
    .into_response()
}

impl Server {
    async fn call(&self, params: &Value) -> Answered {
        let order = params.get("arguments").and_then(order);
        let order = order.ok_or_else(|| (INVALID_PARAMS, "the arguments are no order".to_owned()))?;
        let report = self.example.submit(order).await.map_err(|error| (INTERNAL, error.to_string()))?;
        Ok(task("task", &report, State::Running))
    }

    async fn get(&self, params: &Value) -> Answered {
        let (report, state) = self.example.report(&id(params)?).ok_or_else(unknown)?;
        SystemClock.sleep(report.order.status_delay).await;
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answer = task("complete", &report, state);
        let more = match state {
            State::Completed => {
                Some(("result", json!({"content": [{"type": "text", "text": report.order.title}]})))
            }
            State::Failed => Some(("error", json!({"code": INTERNAL, "message": report.order.failure}))),
            State::InputRequired => Some(("inputRequests", json!({"question": question(&report)}))),
            State::Running | State::Cancelled => None,
        };
        if let (Some((field, value)), Some(fields)) = (more, answer.as_object_mut()) {
            fields.insert(field.to_owned(), value);
        }
        Ok(answer)
    }

    async fn cancel(&self, params: &Value) -> Answered {
        let cancelled = self.example.cancel(&id(params)?).await;
        cancelled.map_err(|error| (INTERNAL, error.to_string()))?.ok_or_else(unknown)?;
        Ok(json!({"resultType": "complete"}))
    }
}

fn unknown() -> (i64, String) {
    (INVALID_PARAMS, "there is no such task".to_owned())
}

fn id(params: &Value) -> Result<String, (i64, String)> {
    let id = params.get("taskId").and_then(Value::as_str);
    id.map(str::to_owned).ok_or_else(|| (INVALID_PARAMS, "taskId is missing".to_owned()))
}

/// The order in the words of the ordinary tool.
fn order(arguments: &Value) -> Option<Order> {
    let seconds = |name: &str| arguments.get(name).and_then(Value::as_f64);
    let question = arguments.get("ask").and_then(Value::as_str).map(|text| Question {
        text: text.to_owned(),
        answer_after: Duration::from_secs_f64(seconds("answer_after_seconds").unwrap_or_default()),
    });
    let fails = arguments.get("fail").and_then(Value::as_bool).unwrap_or_default();
    Some(Order {
        title: arguments.get("title")?.as_str()?.to_owned(),
        duration: Duration::from_secs_f64(seconds("duration_seconds")?),
        failure: fails.then(|| "the report failed".to_owned()),
        question,
        poll_after_seconds: seconds("poll_after_seconds"),
        status_delay: Duration::from_secs_f64(seconds("status_delay_seconds").unwrap_or_default()),
    })
}

fn task(kind: &str, report: &Report, state: State) -> Value {
    let status = if state == State::Running { "working" } else { state.as_str() };
    let pause = report.order.poll_after_seconds.map(|seconds| Duration::from_secs_f64(seconds).as_millis());
    let at = "2026-11-30T00:00:00Z";
    json!({
        "resultType": kind, "taskId": report.id, "status": status, "createdAt": at, "lastUpdatedAt": at, "ttlMs": null,
        "pollIntervalMs": pause.and_then(|millis| u64::try_from(millis).ok()),
    })
}

fn question(report: &Report) -> Value {
    let text = report.order.question.as_ref().map_or("", |question| question.text.as_str());
    let schema = json!({"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]});
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": text, "requestedSchema": schema}})
}
