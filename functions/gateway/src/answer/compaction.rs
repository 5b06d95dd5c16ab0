//! What a compaction came to, as callers see it (agent reference 2.1).

use pudu_domain::Run;
use pudu_domain::conversation::Head;
use pudu_domain::run::{Compacted, Untouched};
use serde::Serialize;
use utoipa::ToSchema;

/// What a compaction came to.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CompactionResult {
    thread_id: String,
    /// The run that did it.
    run_id: String,
    /// Whether older messages gave way to a summary.
    compacted: bool,
    /// Why not: `not_enough_messages`, or `not_due` without `force`.
    reason: Option<&'static str>,
    removed_message_count: usize,
    /// Messages that are still there.
    preserved_message_count: usize,
    summary_updated: bool,
    /// The thread's checkpoint from then on; none if nothing changed.
    checkpoint_id: Option<String>,
    /// About how many tokens the messages were before.
    total_tokens: u64,
}

impl CompactionResult {
    pub(crate) fn new(run: &Run, compacted: &Compacted) -> Self {
        let changed = compacted.reason.is_none();
        Self {
            thread_id: run.key.thread.thread.to_string(),
            run_id: run.key.id.to_string(),
            compacted: changed,
            reason: compacted.reason.map(Untouched::as_str),
            removed_message_count: compacted.removed,
            preserved_message_count: compacted.preserved,
            summary_updated: changed,
            checkpoint_id: run.head().as_ref().map(Head::id),
            total_tokens: compacted.total_tokens,
        }
    }
}
