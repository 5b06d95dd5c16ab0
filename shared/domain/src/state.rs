//! The state of a thread's conversation: its channels, and how each takes what is written to it (agent reference 1.3).
//!
//! A checkpoint is a list of [`Write`]s, or a whole [`State`] now and then; replaying the writes gives the state. So every rule
//! about merging is here and nowhere else, and a step says only what it changes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::chat::{Message, Speaker};
use crate::ids::RunId;
use crate::text::first_chars;

#[cfg(test)]
mod tests;
mod todo;

pub use todo::{Oversize, TODO_CHARS, TODOS, Todo, TodoStatus, fits};

/// Most delegations that are kept; the newest.
pub const DELEGATIONS: usize = 50;
/// Most durable tasks that a conversation knows of by what its tools told; the newest. The table has all of them.
pub const BACKGROUND_TASKS: usize = 100;
/// Most skills that are kept as context; the last used.
pub const SKILLS: usize = 8;
/// Characters of a skill's description that are kept.
pub const SKILL_DESCRIPTION_CHARS: usize = 500;

/// Where a delegation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelegationStatus {
    /// A subagent is at work.
    InProgress,
    /// It brought a result.
    Completed,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It took too long.
    TimedOut,
}

/// What was given to a subagent, and what came of it (agent reference 3.7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// The id of the call that made it.
    pub id: String,
    /// The run that delegated.
    pub run_id: RunId,
    /// The label.
    pub description: String,
    /// To whom.
    pub subagent_type: String,
    /// Where it stands.
    pub status: DelegationStatus,
    /// The beginning and the end of its result or error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_brief: Option<String>,
    /// SHA-256 of the whole result, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_sha256: Option<String>,
}

/// A skill that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillUse {
    /// Its name.
    pub name: String,
    /// Where it was read; its identity.
    pub path: String,
    /// What it is for, cut.
    pub description: String,
}

/// Tools that were promoted from the deferred ones, of one catalogue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promoted {
    /// Which catalogue.
    pub catalog_hash: String,
    /// Their visible names, in the order in which they were found.
    pub names: Vec<String>,
}

/// A durable tool task that the conversation knows of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundTask {
    /// The local id.
    pub task_id: String,
    /// What it is called.
    pub task_name: String,
    /// Where it stood.
    pub status: String,
    /// When that was, RFC 3339.
    pub updated_at: String,
}

/// Every channel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// What was said.
    pub messages: Vec<Message>,
    /// The sandbox, `{sandbox_id}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Value>,
    /// The thread's folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_data: Option<Value>,
    /// What the conversation is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Paths of files that are for the user.
    pub artifacts: Vec<String>,
    /// The plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todos: Option<Vec<Todo>>,
    /// What the user wants reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<Value>,
    /// Files that came with messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uploaded_files: Option<Value>,
    /// Pictures that were looked at, by path.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub viewed_images: Map<String, Value>,
    /// Tools promoted from the deferred ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promoted: Option<Promoted>,
    /// What was given to subagents.
    pub delegations: Vec<Delegation>,
    /// Skills in use.
    pub skill_context: Vec<SkillUse>,
    /// What was summarized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_text: Option<String>,
    /// Durable tool tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_tasks: Option<Vec<BackgroundTask>>,
    /// What each middleware counts, by its name; nobody is shown it.
    #[serde(rename = "__counters", skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, Value>,
}

/// One change of one channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Write {
    /// A message: replaces the one of the same id. A tool's message that is new stands where its call's answers stand, in the
    /// order of the calls; any other stands at the end.
    Message(Box<Message>),
    /// The message of that id goes.
    RemoveMessage(String),
    /// Every message goes.
    RemoveAllMessages,
    /// A sandbox; another than the one that is there is an error.
    Sandbox(Option<Value>),
    /// The thread's folders.
    ThreadData(Value),
    /// The title.
    Title(String),
    /// Files for the user; those that are there already are not added again.
    Artifacts(Vec<String>),
    /// The plan; null changes nothing, an empty one clears it.
    Todos(Option<Vec<Todo>>),
    /// The goal; null changes nothing.
    Goal(Option<Value>),
    /// There is no goal any more.
    ForgetGoal,
    /// Files that came with messages.
    UploadedFiles(Value),
    /// Pictures; none clears them.
    ViewedImages(Map<String, Value>),
    /// Promoted tools: of the same catalogue they are added, of another they replace.
    Promoted(Promoted),
    /// Delegations, by run and id; one that has ended does not begin again.
    Delegations(Vec<Delegation>),
    /// Skills, by path; each moves to the end.
    Skills(Vec<SkillUse>),
    /// The summary; none clears it.
    Summary(Option<String>),
    /// The tasks that the conversation knows of, all of them.
    BackgroundTasks(Vec<BackgroundTask>),
    /// One of them: it replaces the one of the same id. Calls that run side by side do not know of each other's.
    BackgroundTask(BackgroundTask),
    /// What a middleware counts; null forgets it.
    Counters {
        /// Whose.
        name: String,
        /// What.
        value: Value,
    },
}

/// What cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// A conversation has one sandbox.
    #[error("the conversation has another sandbox already")]
    OtherSandbox,
}

impl Write {
    /// A message.
    pub fn message(message: Message) -> Self {
        Self::Message(Box::new(message))
    }
}

impl State {
    /// Takes one write. An error changes nothing.
    pub fn apply(&mut self, write: Write) -> Result<(), WriteError> {
        match write {
            Write::Message(message) => self.say(*message),
            Write::RemoveMessage(id) => self.messages.retain(|message| message.id != id),
            Write::RemoveAllMessages => self.messages.clear(),
            Write::Sandbox(None) | Write::Todos(None) | Write::Goal(None) => {}
            Write::Sandbox(Some(sandbox)) => match &self.sandbox {
                Some(old) if *old != sandbox => return Err(WriteError::OtherSandbox),
                _ => self.sandbox = Some(sandbox),
            },
            Write::ThreadData(data) => self.thread_data = Some(data),
            Write::Title(title) => self.title = Some(title),
            Write::Artifacts(paths) => {
                for path in paths {
                    if !self.artifacts.contains(&path) {
                        self.artifacts.push(path);
                    }
                }
            }
            Write::Todos(Some(todos)) => self.todos = Some(todos),
            Write::Goal(Some(goal)) => self.goal = Some(goal),
            Write::ForgetGoal => self.goal = None,
            Write::UploadedFiles(files) => self.uploaded_files = Some(files),
            Write::ViewedImages(images) if images.is_empty() => self.viewed_images.clear(),
            Write::ViewedImages(images) => self.viewed_images.extend(images),
            Write::Promoted(promoted) => self.promote(promoted),
            Write::Delegations(delegations) => self.delegate(delegations),
            Write::Skills(skills) => self.use_skills(skills),
            Write::Summary(summary) => self.summary_text = summary,
            Write::BackgroundTasks(tasks) => self.background_tasks = Some(tasks),
            Write::BackgroundTask(task) => self.know(task),
            Write::Counters { name, value: Value::Null } => drop(self.counters.remove(&name)),
            Write::Counters { name, value } => drop(self.counters.insert(name, value)),
        }
        Ok(())
    }

    /// Takes writes one after the other; the first that is an error ends it.
    pub fn apply_all(&mut self, writes: impl IntoIterator<Item = Write>) -> Result<(), WriteError> {
        writes.into_iter().try_for_each(|write| self.apply(write))
    }

    /// The message of that id.
    pub fn message(&self, id: &str) -> Option<&Message> {
        self.messages.iter().find(|message| message.id == id)
    }

    /// The last message of a model.
    pub fn last_answer(&self) -> Option<&Message> {
        self.messages.iter().rev().find(|message| message.speaker == Speaker::Ai)
    }

    /// What the last message of a model calls and no tool has answered; nothing once somebody has spoken after it.
    pub fn open_calls(&self) -> Vec<&crate::chat::ToolCall> {
        let answers: Vec<&str> = self
            .messages
            .iter()
            .rev()
            .take_while(|message| message.speaker == Speaker::Tool)
            .filter_map(|message| message.tool_call_id.as_deref())
            .collect();
        let Some(last) = self.messages.iter().rev().find(|message| message.speaker != Speaker::Tool) else {
            return Vec::new();
        };
        last.tool_calls.iter().filter(|call| !answers.contains(&call.id.as_str())).collect()
    }

    /// Whether a question of that id was asked and is not answered.
    pub fn is_open_question(&self, id: &str) -> bool {
        let asked = self.messages.iter().rposition(|message| message.asks() == Some(id));
        let behind = asked.map(|asked| self.messages.iter().skip(asked + 1));
        behind.is_some_and(|mut behind| !behind.any(|message| message.answers() == Some(id)))
    }

    fn say(&mut self, message: Message) {
        if let Some(old) = self.messages.iter_mut().find(|old| old.id == message.id && !old.id.is_empty()) {
            *old = message;
            return;
        }
        let at = self.place(&message).unwrap_or(self.messages.len());
        self.messages.insert(at, message);
    }

    /// Where a new tool's message stands: calls run side by side, and their answers stand in the order of the calls.
    fn place(&self, message: &Message) -> Option<usize> {
        let call = message.tool_call_id.as_deref()?;
        let caller =
            self.messages.iter().rposition(|old| old.tool_calls.iter().any(|made| made.id == call))?;
        let calls = &self.messages.get(caller)?.tool_calls;
        let rank = |id: &str| calls.iter().position(|made| made.id == id);
        let later = self.messages.iter().skip(caller + 1).position(|old| match old.tool_call_id.as_deref() {
            Some(other) => rank(other).is_none_or(|other| Some(other) > rank(call)),
            None => true,
        });
        Some(later.map_or(self.messages.len(), |later| caller + 1 + later))
    }

    fn promote(&mut self, promoted: Promoted) {
        match &mut self.promoted {
            Some(old) if old.catalog_hash == promoted.catalog_hash => {
                for name in promoted.names {
                    if !old.names.contains(&name) {
                        old.names.push(name);
                    }
                }
            }
            _ => self.promoted = Some(promoted),
        }
    }

    fn delegate(&mut self, delegations: Vec<Delegation>) {
        for delegation in delegations {
            let is_same =
                |old: &&mut Delegation| (&old.run_id, &old.id) == (&delegation.run_id, &delegation.id);
            match self.delegations.iter_mut().find(is_same) {
                Some(old)
                    if old.status != DelegationStatus::InProgress
                        && delegation.status == DelegationStatus::InProgress => {}
                Some(old) => *old = delegation,
                None => self.delegations.push(delegation),
            }
        }
        let surplus = self.delegations.len().saturating_sub(DELEGATIONS);
        self.delegations.drain(..surplus);
    }

    fn know(&mut self, task: BackgroundTask) {
        let tasks = self.background_tasks.get_or_insert_default();
        match tasks.iter_mut().find(|old| old.task_id == task.task_id) {
            Some(old) => *old = task,
            None => tasks.push(task),
        }
        let surplus = tasks.len().saturating_sub(BACKGROUND_TASKS);
        tasks.drain(..surplus);
    }

    fn use_skills(&mut self, skills: Vec<SkillUse>) {
        for skill in skills {
            self.skill_context.retain(|old| old.path != skill.path);
            let description = first_chars(&skill.description, SKILL_DESCRIPTION_CHARS).to_owned();
            self.skill_context.push(SkillUse { description, ..skill });
        }
        let surplus = self.skill_context.len().saturating_sub(SKILLS);
        self.skill_context.drain(..surplus);
    }
}
