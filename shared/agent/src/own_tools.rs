//! The tools of this house: the one place that lists them (agent reference 1.9).

use std::sync::Arc;

use pudu_app::memories::Memories;
use pudu_app::runs::results::Results;
use pudu_app::tasks::Tasks;

use crate::background::{AnswerBackgroundTask, CancelBackgroundTask, ListBackgroundTasks};
use crate::clarification::Clarification;
use crate::deferred::ToolSearch;
use crate::memory::{MemoryAdd, MemoryDelete, MemorySearch, MemoryUpdate};
use crate::read_tool_result::ReadToolResult;
use crate::todos::WriteTodos;
use crate::tool::Tool;

/// All of them; which of them a run has follows from its options.
pub fn own_tools(tasks: &Tasks, memories: &Memories, results: &Results) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(WriteTodos),
        Arc::new(Clarification),
        Arc::new(ToolSearch),
        Arc::new(ReadToolResult(results.clone())),
        Arc::new(ListBackgroundTasks(tasks.clone())),
        Arc::new(CancelBackgroundTask(tasks.clone())),
        Arc::new(AnswerBackgroundTask(tasks.clone())),
        Arc::new(MemorySearch(memories.clone())),
        Arc::new(MemoryAdd(memories.clone())),
        Arc::new(MemoryUpdate(memories.clone())),
        Arc::new(MemoryDelete(memories.clone())),
    ]
}
