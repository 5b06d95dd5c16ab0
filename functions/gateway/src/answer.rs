//! What callers see of tasks, events and tools (reference 8.2): never a handle, driver data or a lease. Each body is a type,
//! because the contract is generated from it. What a server said passes through as the JSON that it is.

mod compaction;
mod config;
mod event;
mod feedback;
mod memory;
mod operator;
mod run;
mod server;
mod task;
mod thread;
mod tool;

pub(crate) use compaction::CompactionResult;
pub(crate) use config::{ChangedPlace, Differences, PastConfig, Revisions, ServerEntry, Servers};
pub(crate) use event::ThreadEvent;
pub(crate) use feedback::{FeedbackRow, FeedbackStats, MessageRecord};
pub(crate) use memory::{CONFIDENCE, MemoryConfig, MemoryDocument, MemoryImport, MemoryStatus};
pub(crate) use operator::{CorruptRow, DeadLetter};
pub(crate) use run::{MessagePage, RunMessages, RunRecord, RunRow, TokenUsage};
pub(crate) use server::{ProbeResult, ServerRow};
pub(crate) use task::{Notified, TaskChange, TaskDetail, TaskRow, TaskStatus};
pub(crate) use thread::{Branch, ThreadRow, ThreadState};
pub(crate) use tool::{Called, Found, Listing, ToolEntry};

pub(crate) use pudu_app::moments::moment;
