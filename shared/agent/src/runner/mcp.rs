//! Tools of servers, as an agent calls them: on behalf of its user, with the secrets of the run, and repeatable.

use std::collections::BTreeMap;
use std::sync::Arc;

use pudu_app::catalog::Tool;
use pudu_app::chain::Chain;
use pudu_app::depth::is_shallow;
use pudu_app::ports::{CallFault, Caller, RequestSecrets, ToolDefinition};
use pudu_app::run_secrets;
use pudu_app::tools::{InvokeError, Invoked, Submitted, Terms};
use pudu_domain::chat::{Message, ToolCall, ToolStatus};
use pudu_domain::run::Origin;
use pudu_domain::state::{BackgroundTask, Write};
use pudu_domain::task::Delivery;
use pudu_domain::{CredentialTag, IdempotencyKey, Principal, Role, Run, RunKey, RunSpec};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::Parts;
use crate::middleware::{FROM_SERVER, failure};
use crate::tool::Brought;
use pudu_app::moments::moment;

/// Most bytes of a structured result that are kept beside its text, as JSON.
const ARTIFACT: usize = 64 * 1024;

/// The servers, for one run.
pub(super) struct Servers {
    parts: Arc<Parts>,
    run: RunKey,
    sealed_for: RunKey,
    who: Principal,
    has_secrets: bool,
    secrets: OnceCell<RequestSecrets>,
}

impl Servers {
    pub(super) fn of(parts: &Arc<Parts>, run: &Run, spec: &RunSpec) -> Self {
        // The secrets of a child are its parent's.
        let sealed_for = match &run.origin {
            Origin::Child { parent, .. } => run.key.beside(parent.clone()),
            Origin::Lead | Origin::Aside => run.key.clone(),
        };
        Self {
            parts: Arc::clone(parts),
            run: run.key.clone(),
            sealed_for,
            who: principal(run, spec),
            has_secrets: spec.secrets,
            secrets: OnceCell::new(),
        }
    }

    /// Calls a tool. Repeated after a kill, a submission gets the task of the first.
    pub(super) async fn call(&self, call: &ToolCall) -> Brought {
        let secrets = match self.secrets().await {
            Ok(secrets) => secrets.clone(),
            Err(error) => {
                tracing::warn!(run.id = %self.run.id, error, "the secrets of a run could not be read; a call is not made");
                let why = "the credentials of this run cannot be read at the moment; try again";
                return Brought::only(failure(call, "Unavailable", why));
            }
        };
        let caller = Caller { thread: self.run.thread.clone(), secrets, relayed: None };
        let terms = Terms { key: repeatable(&self.run, call), delivery: Delivery::Run, ..Terms::default() };
        let invoked = self.parts.tools.invoke(&self.who, caller, &call.name, call.args.clone(), terms).await;
        match invoked {
            Ok(Invoked::Result(result)) => Brought::only(told(call, &result)),
            Ok(Invoked::Submitted(task)) => submitted(call, &task),
            Err(error) => Brought::only(failure(call, kind(&error), &error.to_string())),
        }
    }

    /// What the run's caller gave for its servers. Fails while that cannot be told; what is gone stays gone.
    pub(super) async fn secrets(&self) -> Result<&RequestSecrets, String> {
        self.secrets.get_or_try_init(|| self.opened()).await
    }

    async fn opened(&self) -> Result<RequestSecrets, String> {
        if !self.has_secrets {
            return Ok(RequestSecrets::Given(BTreeMap::new()));
        }
        let gone = |why: String| {
            tracing::warn!(run.id = %self.run.id, why, "the secrets of a run are gone; calls that need them fail");
            RequestSecrets::Gone
        };
        let sealed = self.parts.runs.secrets(&self.sealed_for).await;
        let Some(sealed) = sealed.map_err(|error| Chain(&error).to_string())? else {
            return Ok(gone("they are not kept any more".to_owned()));
        };
        let key = self.parts.keys.current().await.map_err(|error| Chain(&error).to_string())?;
        let opened = run_secrets::open(&key, &self.sealed_for, &sealed);
        Ok(opened.map_or_else(|error| gone(error.to_string()), RequestSecrets::Given))
    }
}

/// Who a run acts for.
pub(super) fn principal(run: &Run, spec: &RunSpec) -> Principal {
    let user = run.key.thread.user.clone();
    Principal { tag: CredentialTag::of_user(&user), user, role: Role::User, scope: spec.scope.clone() }
}

/// A server's tool as a model is offered it.
pub(super) fn defined(tool: &Tool) -> ToolDefinition {
    let function = tool.function();
    ToolDefinition {
        name: function.name,
        description: function.description,
        schema: function.parameters,
        server: Some(tool.server.name.clone()),
    }
}

/// By what a repeated submission is known. Models name calls as they like; what is no legal key is replaced by its digest.
fn repeatable(run: &RunKey, call: &ToolCall) -> Option<IdempotencyKey> {
    let key = IdempotencyKey::parse(format!("run:{}:{}", run.id, call.id));
    let hashed = || {
        let digest = pudu_config::sha256_hex(&json!(call.id));
        IdempotencyKey::parse(format!("run:{}:{digest}", run.id)).ok()
    };
    key.ok().or_else(hashed)
}

/// What kind of failure it is, as a model reads it.
const fn kind(error: &InvokeError) -> &'static str {
    match error {
        InvokeError::Unknown { .. } => "UnknownTool",
        InvokeError::Disabled { .. } => "DisabledServer",
        InvokeError::Arguments(_) => "InvalidArguments",
        InvokeError::Call(error) => match error.fault {
            CallFault::Timeout => "Timeout",
            CallFault::NotSent | CallFault::Broken => "ConnectionError",
            CallFault::Denied => "MissingCredential",
            CallFault::Config => "ConfigError",
            CallFault::Refused | CallFault::Protocol | CallFault::Violation => "ServerError",
        },
        InvokeError::NotTaken { .. } | InvokeError::Duplicate { .. } | InvokeError::Unusable { .. } => {
            "TaskRefused"
        }
        InvokeError::Uncertain { .. } | InvokeError::UnderWay => "OutcomeUnknown",
        InvokeError::NotDurable { .. }
        | InvokeError::KeyReused
        | InvokeError::HungUp
        | InvokeError::ThreadGone => "Refused",
        InvokeError::Config(_) | InvokeError::Store(_) => "Unavailable",
    }
}

/// A server's result as a model is told it.
fn told(call: &ToolCall, result: &Value) -> Message {
    let blocks = result.get("content").and_then(Value::as_array);
    let texts: Vec<String> = blocks.into_iter().flatten().filter_map(text_of).collect();
    let structured = result.get("structuredContent").filter(|value| !value.is_null());
    let text = match (texts.is_empty(), structured) {
        (true, Some(structured)) => structured.to_string(),
        (true, None) => "The tool answered without any content.".to_owned(),
        (false, _) => texts.join("\n"),
    };
    let failed = result.get("isError").and_then(Value::as_bool) == Some(true);
    let status = if failed { ToolStatus::Error } else { ToolStatus::Success };
    let mut message = Message::tool(call, status, text);
    message.additional_kwargs.insert(FROM_SERVER.to_owned(), true.into());
    message.artifact = structured.map(artifact);
    message
}

/// What is kept of a structured result beside its text, for whoever shows it. One that is too large says so: it is part of a row,
/// of each frame that tells of it, and of every state from then on.
fn artifact(structured: &Value) -> Value {
    let bytes = structured.to_string().len();
    if bytes <= ARTIFACT && is_shallow(structured) {
        return json!({ "structured_content": structured });
    }
    json!({ "structured_content": null, "truncated": true, "bytes": bytes })
}

/// What a block says; of one that is no text, what it is.
fn text_of(block: &Value) -> Option<String> {
    let field = |name: &str| block.get(name).and_then(Value::as_str);
    match field("type")? {
        "text" => field("text").map(str::to_owned),
        "resource" => {
            let resource = block.get("resource")?;
            let text = resource.get("text").and_then(Value::as_str).map(str::to_owned);
            text.or_else(|| Some(format!("[resource {}]", resource.get("uri")?.as_str()?)))
        }
        "resource_link" => Some(format!("[resource {}]", field("uri")?)),
        kind => Some(format!(
            "[{kind} of type {}, which cannot be shown here]",
            field("mimeType").unwrap_or("unknown")
        )),
    }
}

/// What a model is told of a task that runs on.
fn submitted(call: &ToolCall, task: &Submitted) -> Brought {
    let Submitted { task_id, task_name, status, .. } = task;
    let text = format!(
        "The task '{task_name}' was submitted and runs in the background (id {task_id}, status {status}). Do not wait for it \
         and do not submit it again: the conversation is continued with its news when there are any. Tell the user that it \
         is running."
    );
    let mut message = Message::tool(call, ToolStatus::Success, text);
    let known = json!({ "task_id": task_id, "task_name": task_name, "status": status });
    message.artifact = Some(json!({ "background_task": known }));
    let entry = BackgroundTask {
        task_id: task_id.clone(),
        task_name: task_name.clone(),
        status: (*status).to_owned(),
        updated_at: moment(task.updated_at),
    };
    Brought { writes: vec![Write::BackgroundTask(entry)], ..Brought::only(message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall::new(id, "t", serde_json::Map::new())
    }

    #[test]
    fn a_result_is_told_by_its_texts_and_what_else_it_holds_is_named() {
        let result = json!({"content": [
            {"type": "text", "text": "a"}, {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "resource_link", "uri": "file:///x"},
        ], "structuredContent": {"n": 1}});
        let message = told(&call("c"), &result);
        assert_eq!(
            message.content.text(),
            "a\n[image of type image/png, which cannot be shown here]\n[resource file:///x]"
        );
        assert_eq!(message.artifact, Some(json!({"structured_content": {"n": 1}})));
        assert_eq!(message.status, Some(ToolStatus::Success));
        let large =
            told(&call("c"), &json!({"content": [], "structuredContent": {"n": "x".repeat(ARTIFACT)}}));
        let kept = large.artifact.unwrap();
        assert_eq!((&kept["truncated"], &kept["structured_content"]), (&json!(true), &Value::Null));
        let failed =
            told(&call("c"), &json!({"content": [], "structuredContent": {"n": 1}, "isError": true}));
        assert_eq!((failed.content.text().as_str(), failed.status), (r#"{"n":1}"#, Some(ToolStatus::Error)));
    }

    #[test]
    fn what_is_large_or_deep_beside_the_text_is_told_by_its_size() {
        let brought = |structured: Value| {
            let result = json!({"content": [{"type": "text", "text": "a"}], "structuredContent": structured});
            told(&call("c"), &result).artifact.unwrap()
        };
        let deep = (0..65).fold(json!({}), |inner, _| json!({ "a": inner }));
        for structured in [json!({ "x": "x".repeat(ARTIFACT) }), deep] {
            let bytes = structured.to_string().len();
            assert_eq!(
                brought(structured),
                json!({ "structured_content": null, "truncated": true, "bytes": bytes })
            );
        }
    }

    #[test]
    fn a_call_of_any_name_can_be_repeated() {
        let run = crate::fixture::World::new(&json!({})).run.key;
        assert_eq!(repeatable(&run, &call("c")).unwrap().as_str(), "run:r:c");
        let odd = repeatable(&run, &call(&"ü".repeat(500))).unwrap();
        assert_ne!(odd, repeatable(&run, &call("ü")).unwrap());
    }
}
