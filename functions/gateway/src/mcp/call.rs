//! `tools/call`: one call of any registered server's tool, in either era, its result unchanged.

use std::collections::BTreeMap;
use std::sync::Arc;

use pudu_app::ports::{Caller, Relayed, RequestSecrets};
use pudu_app::tools::{Found, InvokeError, Invoked, Submitted, Terms};
use pudu_domain::{Principal, ThreadKey};
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::error::RpcError;
use super::revision::{self, Client, Era};
use super::{Asked, follow, greet, mirror, tasks};
use crate::input::Secrets;
use crate::state::Gateway;

/// Where a request brings what `headers_from_context` takes: in `_meta`, because a client that makes one request for one person
/// knows what it sends, while a client's configured headers are the same for all of its requests.
const SECRETS: &str = "pudu/secrets";

/// Answers `tools/call`.
pub(super) async fn tool(
    mut asked: Asked<'_>,
    notes: Option<mpsc::Sender<Value>>,
) -> Result<Map<String, Value>, RpcError> {
    let mut params = std::mem::take(&mut asked.request.params);
    let secrets = secrets(params.get_mut("_meta"))?;
    let Some(Value::String(name)) = params.remove("name") else {
        return Err(RpcError::invalid_params("\"name\" must be a text, the name of a tool"));
    };
    let arguments = match params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(RpcError::invalid_params("\"arguments\" must be an object")),
    };
    if !asked.client.takes_tasks() && follow::is_own(&name) {
        return follow::call(&asked, &name, &arguments)
            .await
            .map(|result| complete(result, asked.client.era));
    }
    let Asked { gateway, who, headers, client, .. } = asked;
    let found = match gateway.tools.find(who, &name).await {
        Ok(found) => found,
        Err(InvokeError::Unknown { name }) => {
            return Err(RpcError::invalid_params(format!(
                "there is no tool '{name}'; tools/list names them"
            )));
        }
        Err(error @ InvokeError::Disabled { .. }) => return Err(RpcError::invalid_params(error.to_string())),
        Err(error) => return failed(error, client.era),
    };
    if client.era == Era::Stateless {
        mirror::check_arguments(headers, found.tool.definition(), &arguments)?;
    }
    let thread = ThreadKey { user: who.user.clone(), thread: who.own_thread() };
    let relayed = Arc::new(relayed(params, &client, notes));
    let caller = Caller {
        secrets: RequestSecrets::Given(secrets),
        relayed: Some(Arc::clone(&relayed)),
        ..Caller::of(thread)
    };
    let terms = client.terms();
    let invoked = if terms.may_start_task(&found.tool.role) {
        tracked(gateway, found, caller, arguments, terms).await?
    } else {
        // Ends with its caller: dropping it cancels the call at its server.
        gateway.tools.call(&found, caller, arguments, terms).await
    };
    match invoked {
        Ok(Invoked::Result(result)) => Ok(brought(greet::object(result), client.era)),
        Ok(Invoked::Submitted(task)) if client.takes_tasks() => Ok(tasks::created(who, &task)),
        Ok(Invoked::Submitted(task)) => Ok(complete(submitted(who, &task), client.era)),
        Err(InvokeError::Call(error)) => match relayed.error.get() {
            Some(own) if own.required.is_some() && client.era == Era::Stateless => {
                Err(RpcError::missing_capability(own.required.as_ref().unwrap_or(&Value::Null)))
            }
            Some(own) if is_of_the_call(own.code) => Err(RpcError::of_server(own.code, error.to_string())),
            _ => failed(error.into(), client.era),
        },
        // By the id that `tasks/get` takes: whoever does not find it would submit again.
        Err(InvokeError::Uncertain { server, task_id, message }) => {
            let task_id = tasks::shown_id(who, task_id);
            failed(InvokeError::Uncertain { server, task_id, message }, client.era)
        }
        Err(error) => failed(error, client.era),
    }
}

/// Whether a server's error is about the call, and so its client's. The others are about how we speak with that server; a client that
/// got one would think it of us.
const fn is_of_the_call(code: i64) -> bool {
    !matches!(code, -32_700 | -32_600 | -32_601 | -32_022..=-32_020 | -32_001 | -32_000)
}

/// What the client says beside tool and arguments, without what is between it and us.
fn relayed(mut params: Map<String, Value>, client: &Client, notes: Option<mpsc::Sender<Value>>) -> Relayed {
    let mut meta = params.remove("_meta").map(greet::object).unwrap_or_default();
    let token = meta.shift_remove("progressToken").filter(|token| token.is_string() || token.is_number());
    for own in revision::OWN_META {
        meta.shift_remove(own);
    }
    // Of the core tasks of 2025-11-25, which are not offered here.
    params.shift_remove("task");
    Relayed { params, meta, capabilities: client.capabilities.clone(), token, notes, ..Relayed::default() }
}

/// A result. A server's question reaches only a client that can answer it: the older era had no such results.
fn brought(result: Map<String, Value>, era: Era) -> Map<String, Value> {
    if era == Era::Handshake && result.get("resultType").is_some_and(|kind| kind == "input_required") {
        let text = "The tool asks for input, which this client's protocol revision cannot give.";
        return greet::object(json!({"content": [{"type": "text", "text": text}], "isError": true}));
    }
    complete(result, era)
}

/// The secrets of this request, taken out of its `_meta`: they go nowhere but into headers that the server's entry names.
fn secrets(meta: Option<&mut Value>) -> Result<BTreeMap<String, SecretString>, RpcError> {
    let given = meta.and_then(Value::as_object_mut).and_then(|meta| meta.remove(SECRETS));
    let read = given.map(serde_json::from_value::<Secrets>).transpose();
    let read = read.map_err(|_| {
        RpcError::invalid_params(format!(
            "\"{SECRETS}\" in \"_meta\" must be an object, of at most 64 texts of at most 8192 bytes each"
        ))
    })?;
    Ok(read.unwrap_or_default().0)
}

/// A call that may start a task: it is brought to its end, so that no submission is left half recorded, and the task of a caller
/// that has hung up is cancelled.
async fn tracked(
    gateway: &Gateway,
    found: Found,
    caller: Caller,
    arguments: Map<String, Value>,
    terms: Terms,
) -> Result<Result<Invoked, InvokeError>, RpcError> {
    let (gone, thread) = (CancellationToken::new(), caller.thread.clone());
    let _hung_up = gone.clone().drop_guard();
    let (tools, terms) = (gateway.tools.clone(), Terms { gone, ..terms });
    let running = gateway.calls.spawn(async move { tools.call(&found, caller, arguments, terms).await });
    let ended = running.await.map_err(|error| {
        tracing::error!(%error, "a tool call panicked");
        RpcError::internal("the call failed inside Pudu; see its log")
    })?;
    gateway.streams.changed(&thread);
    Ok(ended)
}

/// A task for a client that has no tasks: the result of its call, which says how to follow it.
fn submitted(who: &Principal, task: &Submitted) -> Map<String, Value> {
    let Submitted { task_id, task_name, status, .. } = task;
    let id = tasks::shown_id(who, task_id);
    let text = format!(
        "The durable task '{task_name}' runs in the background as {id}. Ask for it with {} until it has ended.",
        follow::GET
    );
    greet::object(json!({
        "content": [{"type": "text", "text": text}],
        "structuredContent": {"task_id": id, "task_name": task_name, "status": status},
    }))
}

/// What became of a call that brought nothing. A model can do something about most of it, so it is a result that says so; only
/// what is ours is an error of the protocol.
fn failed(error: InvokeError, era: Era) -> Result<Map<String, Value>, RpcError> {
    match error {
        InvokeError::Config(error) => Err(error.into()),
        InvokeError::Store(error) => Err(error.into()),
        error => {
            let content = json!([{"type": "text", "text": error.to_string()}]);
            Ok(complete(greet::object(json!({"content": content, "isError": true})), era))
        }
    }
}

/// A result as the newest revision has it: it says what it is. Nothing that its server said of it is changed.
fn complete(mut result: Map<String, Value>, era: Era) -> Map<String, Value> {
    if era == Era::Stateless && !result.contains_key("resultType") {
        result.insert("resultType".to_owned(), "complete".into());
    }
    result
}
