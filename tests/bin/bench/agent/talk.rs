//! Models that answer at once, and what is asked of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pudu_app::ports::{ModelCall, ModelError, Models, Piece};
use pudu_app::runs::Wanted;
use pudu_domain::chat::{Message, Speaker, ToolCall};
use pudu_domain::run::{Operation, Strategy};
use pudu_domain::{Scope, ThreadKey};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

#[derive(Clone, Copy)]
enum Kind {
    /// Writes its plan anew that often, and is done.
    Tools(usize),
    /// Delegates once.
    Delegates,
}

/// A model. Clones are the same.
#[derive(Clone)]
pub(super) struct Talker {
    kind: Kind,
    /// When each call began and ended, those beside the conversation apart.
    times: Arc<Mutex<Vec<(Instant, Instant)>>>,
}

/// A run that is asked for `text`, with what that needs.
pub(super) fn wanted(thread: &ThreadKey, text: &str) -> anyhow::Result<Wanted> {
    let options = json!({"is_plan_mode": text == "plan", "subagent_enabled": text.starts_with("delegate")});
    let Value::Object(options) = options else { anyhow::bail!("options are an object") };
    Ok(Wanted {
        operation: Operation::Run,
        thread: thread.clone(),
        must_exist: false,
        assistant: "lead_agent".to_owned(),
        input: vec![Message::new(Speaker::Human, "", text)],
        options,
        metadata: Map::new(),
        kwargs: Map::new(),
        strategy: Strategy::Reject,
        scope: Scope::All,
        base: None,
        secrets: BTreeMap::new(),
        key: None,
    })
}

impl Talker {
    pub(super) fn with_tools(rounds: usize) -> Self {
        Self::of(Kind::Tools(rounds))
    }

    pub(super) fn delegating() -> Self {
        Self::of(Kind::Delegates)
    }

    fn of(kind: Kind) -> Self {
        Self { kind, times: Arc::default() }
    }

    /// From the end of each call to the beginning of the next.
    pub(super) fn pauses(&self) -> Vec<Duration> {
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let next = times.iter().skip(1);
        times.iter().zip(next).map(|((_, end), (begin, _))| begin.duration_since(*end)).collect()
    }
}

fn calls(id: &str, name: &str, args: &Value) -> Message {
    let mut message = Message::new(Speaker::Ai, "", "");
    let args = args.as_object().cloned().unwrap_or_default();
    message.tool_calls = vec![ToolCall::new(format!("{id}-call"), name, args)];
    message
}

#[async_trait]
impl Models for Talker {
    async fn call(&self, call: &ModelCall, _: mpsc::Sender<Piece>) -> Result<Message, ModelError> {
        let began = Instant::now();
        let results = call.messages.iter().filter(|message| message.speaker == Speaker::Tool).count();
        let text = |text: &str| Message::new(Speaker::Ai, "", text);
        let aside = call.tools.is_empty();
        let mut answer = match self.kind {
            _ if aside => text("a title"),
            Kind::Tools(rounds) if results < rounds => {
                let content = format!("round {results}");
                let item = json!({"content": content, "status": "completed", "activeForm": "…"});
                calls(&call.id, "write_todos", &json!({"todos": [item]}))
            }
            Kind::Delegates if results == 0 => {
                let args =
                    json!({"description": "look", "prompt": "look", "subagent_type": "general-purpose"});
                calls(&call.id, "task", &args)
            }
            Kind::Tools(_) | Kind::Delegates => text("done"),
        };
        answer.id.clone_from(&call.id);
        if !aside {
            self.times.lock().unwrap_or_else(PoisonError::into_inner).push((began, Instant::now()));
        }
        Ok(answer)
    }
}
