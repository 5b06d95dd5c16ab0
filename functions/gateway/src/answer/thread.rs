//! A thread and its state, as callers see them (agent reference 2.1, 2.8).

use pudu_app::runs::{Branched, Checkpointed, View, values};
use pudu_domain::conversation::Head;
use pudu_domain::state::State;
use pudu_domain::{Conversation, ThreadId};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::moment;

/// A thread.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ThreadRow {
    #[schema(value_type = String)]
    thread_id: ThreadId,
    /// `idle`, `busy`, `interrupted` or `error`.
    status: &'static str,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
    /// What its callers noted.
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
    /// Its state; in lists only the title.
    #[schema(value_type = Object)]
    values: Map<String, Value>,
    /// Empty: an agent's question stands in its state.
    #[schema(value_type = Object)]
    interrupts: Map<String, Value>,
}

/// The state of a thread.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ThreadState {
    /// By channel.
    #[schema(value_type = Object)]
    values: Map<String, Value>,
    /// What an active run does next.
    next: Vec<&'static str>,
    /// The same with an id each.
    tasks: Vec<NextTask>,
    /// What made the checkpoint, and when in its run: `step` is -1 of the one before every other, whose state is empty.
    #[schema(value_type = Object)]
    metadata: Value,
    /// The checkpoint, as runs and edits take it.
    checkpoint: CheckpointRef,
    checkpoint_id: String,
    /// The one before it.
    parent_checkpoint: Option<CheckpointRef>,
    parent_checkpoint_id: Option<String>,
    #[schema(format = DateTime)]
    created_at: String,
    interrupts: Vec<Value>,
}

/// One thing that comes next.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NextTask {
    id: String,
    name: &'static str,
    error: Option<String>,
    interrupts: Vec<Value>,
}

/// A checkpoint by its id.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CheckpointRef {
    thread_id: String,
    /// Empty.
    checkpoint_ns: &'static str,
    checkpoint_id: String,
}

/// A thread that branched off.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Branch {
    #[schema(value_type = String)]
    thread_id: ThreadId,
    #[schema(value_type = String)]
    parent_thread_id: ThreadId,
    parent_checkpoint_id: String,
    branched_from_message_id: String,
    /// `none`: a branch begins with folders of its own.
    workspace_clone_mode: &'static str,
    /// `seeded`: the history up to the message is there.
    history_seed_mode: &'static str,
}

impl ThreadRow {
    /// A thread in a list.
    pub(crate) fn listed(conversation: Conversation) -> Self {
        let title = conversation.title.clone().map(|title| ("title".to_owned(), Value::from(title)));
        Self::of(conversation, title.into_iter().collect())
    }

    /// A thread with its state.
    pub(crate) fn whole(view: View) -> Self {
        Self::of(view.conversation, values::shown(view.state))
    }

    fn of(conversation: Conversation, values: Map<String, Value>) -> Self {
        Self {
            thread_id: conversation.thread.thread,
            status: conversation.status.as_str(),
            created_at: moment(conversation.created_at),
            updated_at: moment(conversation.updated_at),
            metadata: conversation.metadata,
            values,
            interrupts: Map::new(),
        }
    }
}

impl ThreadState {
    /// The state that was looked at.
    pub(crate) fn new(view: View, newest: bool) -> Self {
        let calls = !view.state.open_calls().is_empty();
        let next = match &view.active {
            Some(_) if newest => vec![if calls { "tools" } else { "model" }],
            _ => Vec::new(),
        };
        let thread = view.conversation.thread.thread;
        Self::of(&thread, view.checkpoint, values::shown(view.state), next)
    }

    /// An entry of a history; only the newest has its messages.
    pub(crate) fn past(thread: &ThreadId, checkpoint: Checkpointed, state: State, newest: bool) -> Self {
        let mut values = values::shown(state);
        if !newest {
            values.remove("messages");
        }
        Self::of(thread, checkpoint, values, Vec::new())
    }

    fn of(
        thread: &ThreadId,
        checkpoint: Checkpointed,
        values: Map<String, Value>,
        next: Vec<&'static str>,
    ) -> Self {
        let named = |head: &Head| CheckpointRef {
            thread_id: thread.to_string(),
            checkpoint_ns: "",
            checkpoint_id: head.id(),
        };
        let Checkpointed { head, parent, at, source, step } = checkpoint;
        let mut metadata =
            Map::from_iter([("source".to_owned(), json!(source)), ("step".to_owned(), step.into())]);
        if !head.is_beginning() {
            metadata.insert("run_id".to_owned(), head.run.as_str().into());
        }
        let task =
            |name: &'static str| NextTask { id: head.task(name), name, error: None, interrupts: Vec::new() };
        Self {
            values,
            tasks: next.iter().map(|name| task(name)).collect(),
            next,
            metadata: Value::Object(metadata),
            checkpoint: named(&head),
            checkpoint_id: head.id(),
            parent_checkpoint: parent.as_ref().map(named),
            parent_checkpoint_id: parent.as_ref().map(Head::id),
            created_at: moment(at),
            interrupts: Vec::new(),
        }
    }
}

impl Branch {
    pub(crate) fn new(from: ThreadId, branched: Branched) -> Self {
        Self {
            thread_id: branched.conversation.thread.thread,
            parent_thread_id: from,
            parent_checkpoint_id: branched.parent.id(),
            branched_from_message_id: branched.message,
            workspace_clone_mode: "none",
            history_seed_mode: "seeded",
        }
    }
}
