//! Tools of Pudu's own, for clients that have no tasks: by these they follow what their calls have started, so that a durable task
//! is of use to any client. They are listed where something that is listed starts tasks; a server's tool by one of these names is not
//! there for such a client.

use pudu_app::tasks::CancelError;
use pudu_domain::{Principal, ThreadKey};
use serde_json::{Map, Value, json};

use super::error::RpcError;
use super::tasks::{answer, state, task_of};
use super::{Asked, greet};
use crate::answer::TaskRow;
use crate::state::Gateway;

const LIST: &str = "pudu_tasks_list";
/// The one that tells how a task is.
pub(super) const GET: &str = "pudu_tasks_get";
const CANCEL: &str = "pudu_tasks_cancel";
const ANSWER: &str = "pudu_tasks_answer";
/// Most tasks of a list.
const MOST: usize = 50;

/// Their definitions, in the order of their names.
pub(super) fn definitions() -> [(&'static str, Value); 4] {
    let tool = |name: &'static str, description: &str, properties: Value, required: Value| {
        let schema = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        (name, json!({"name": name, "description": description, "inputSchema": schema}))
    };
    let id = json!({"type": "string", "description": "The task_id that the call was answered with"});
    let responses = json!({
        "type": "object",
        "description": "For each key in inputRequests its response, such as {\"action\": \"accept\", \"content\": {…}}",
    });
    [
        tool(
            ANSWER,
            "Answers what a durable task asks.",
            json!({"task_id": id, "responses": responses}),
            json!(["task_id", "responses"]),
        ),
        tool(CANCEL, "Asks for a durable task to be cancelled.", json!({"task_id": id}), json!(["task_id"])),
        tool(
            GET,
            "Tells how a durable task is: its status, what it asks (inputRequests), and its result when it has ended. \
             Wait at least pollIntervalMs before asking again.",
            json!({"task_id": id}),
            json!(["task_id"]),
        ),
        tool(LIST, "Lists the newest durable tasks that were started here.", json!({}), json!([])),
    ]
}

/// Whether `name` is one of them.
pub(super) fn is_own(name: &str) -> bool {
    [LIST, GET, CANCEL, ANSWER].contains(&name)
}

/// Calls one of them. What is wrong with a call is a result that says so.
pub(super) async fn call(
    asked: &Asked<'_>,
    name: &str,
    arguments: &Map<String, Value>,
) -> Result<Map<String, Value>, RpcError> {
    let done = match name {
        LIST => list(asked.gateway, asked.who).await,
        _ => one(asked, name, arguments).await,
    };
    match done {
        Ok(told) => Ok(greet::object(json!({
            "content": [{"type": "text", "text": Value::Object(told.clone()).to_string()}],
            "structuredContent": told,
        }))),
        Err(error) if error.is_internal() => Err(error),
        Err(error) => Ok(greet::object(
            json!({"content": [{"type": "text", "text": error.message()}], "isError": true}),
        )),
    }
}

async fn list(gateway: &Gateway, who: &Principal) -> Result<Map<String, Value>, RpcError> {
    let thread = ThreadKey { user: who.user.clone(), thread: who.own_thread() };
    if gateway.threads.is_going(&thread).await? {
        return Ok(greet::object(json!({ "tasks": [] })));
    }
    let rows = gateway.tasks.list(&thread, MOST, None).await?;
    let shown = rows.into_iter().map(|row| {
        let id = format!("{}~{}", thread.thread, row.task.key.id);
        let mut shown = greet::object(json!(TaskRow::from(row)));
        shown.insert("task_id".to_owned(), id.into());
        shown
    });
    let shown: Vec<_> = shown.collect();
    Ok(greet::object(json!({ "tasks": shown })))
}

async fn one(
    asked: &Asked<'_>,
    name: &str,
    arguments: &Map<String, Value>,
) -> Result<Map<String, Value>, RpcError> {
    let id = arguments.get("task_id").and_then(Value::as_str);
    let id = id.ok_or_else(|| RpcError::invalid_params("\"task_id\" must be a text"))?;
    let key = task_of(asked, id).await?;
    match name {
        CANCEL => match asked.gateway.tasks.cancel(&key).await {
            Ok(_) => {}
            Err(CancelError::Store(error)) => return Err(error.into()),
            Err(error @ CancelError::Busy) => return Err(RpcError::invalid_params(error.to_string())),
            Err(error @ CancelError::Unattended { .. }) => return Err(RpcError::internal(error.to_string())),
        },
        ANSWER => {
            let given = arguments.get("responses").and_then(Value::as_object);
            let given = given.ok_or_else(|| RpcError::invalid_params("\"responses\" must be an object"))?;
            answer(asked.gateway, &key, given).await?;
        }
        _ => {}
    }
    let mut told = state(asked.gateway, &key).await?;
    told.shift_remove("resultType");
    Ok(told)
}
