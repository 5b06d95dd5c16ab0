//! A run, its records, and what a thread's runs took, as callers see them (agent reference 2.7, 2.8).

use std::collections::BTreeMap;

use pudu_app::ports::Record;
use pudu_app::runs::{Tokens, position};
use pudu_domain::chat::Usage;
use pudu_domain::run::{Notice, StopReason, Strategy};
use pudu_domain::{Run, RunSpec, ThreadId};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::{MessageRecord, moment};

/// A run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunRow {
    run_id: String,
    thread_id: String,
    assistant_id: String,
    /// `run`: an agent answers. `compact`: older messages of its thread give way to a summary, and nobody says anything.
    operation_kind: &'static str,
    /// `pending`, `running`, `success`, `error`, `timeout` or `interrupted`.
    status: String,
    /// What its caller noted.
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
    /// What it was asked for, without secrets; in a list without its input.
    #[schema(value_type = Object)]
    kwargs: Map<String, Value>,
    /// `reject`, `interrupt`, `rollback` or `enqueue`.
    multitask_strategy: &'static str,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
    total_input_tokens: u64,
    total_output_tokens: u64,
    total_tokens: u64,
    llm_call_count: u32,
    lead_agent_tokens: u64,
    subagent_tokens: u64,
    middleware_tokens: u64,
    message_count: u32,
    /// What cut it short.
    stop_reason: Option<String>,
    /// Why it failed: its beginning.
    error: Option<String>,
}

impl RunRow {
    pub(crate) fn new(run: &Run, spec: RunSpec) -> Self {
        let input = json!({ "messages": spec.input });
        let mut row = Self::listed(run, spec);
        row.kwargs.insert("input".to_owned(), input);
        row
    }

    /// The same in a list, where what was said to it is left out.
    pub(crate) fn listed(run: &Run, spec: RunSpec) -> Self {
        let (totals, end) = (&run.totals, run.end());
        Self {
            run_id: run.key.id.to_string(),
            thread_id: run.key.thread.thread.to_string(),
            assistant_id: spec.assistant,
            operation_kind: spec.operation.kind(),
            status: run.phase.status().to_owned(),
            metadata: spec.metadata,
            kwargs: spec.kwargs,
            multitask_strategy: match spec.strategy {
                Strategy::Reject => "reject",
                Strategy::Interrupt => "interrupt",
                Strategy::Rollback => "rollback",
                Strategy::Enqueue => "enqueue",
            },
            created_at: moment(run.created_at),
            updated_at: moment(run.updated_at),
            total_input_tokens: totals.tokens.input_tokens,
            total_output_tokens: totals.tokens.output_tokens,
            total_tokens: totals.tokens.total_tokens,
            llm_call_count: totals.calls,
            lead_agent_tokens: totals.lead,
            subagent_tokens: totals.subagent,
            middleware_tokens: totals.middleware,
            message_count: totals.messages,
            stop_reason: end
                .and_then(|end| end.stop_reason)
                .map(|reason| StopReason::as_str(reason).to_owned()),
            error: end.and_then(|end| end.error.as_ref()).map(|error| error.as_str().to_owned()),
        }
    }
}

/// A record of a thread's history.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunRecord {
    thread_id: String,
    run_id: String,
    /// Grows from record to record in a thread, with gaps.
    seq: u64,
    /// For example `llm.ai.response`.
    event_type: String,
    /// `trace`, `message`, `outputs`, `error`, `middleware`, `context`, `subagent` or `workspace`.
    category: String,
    /// What happened.
    content: Value,
    /// What is noted beside it.
    metadata: Value,
    #[schema(format = DateTime)]
    created_at: String,
}

impl RunRecord {
    /// The record; none for what is a frame of a stream.
    pub(crate) fn new(record: Record) -> Option<Self> {
        let seq = position(&record);
        let Notice::Record { event_type, category, content, metadata } = record.notice else { return None };
        Some(Self {
            thread_id: record.run.thread.thread.to_string(),
            run_id: record.run.id.to_string(),
            seq,
            event_type,
            category,
            content,
            metadata,
            created_at: moment(record.at),
        })
    }

    pub(crate) const fn seq(&self) -> u64 {
        self.seq
    }
}

/// Messages of a run, in order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunMessages {
    pub(crate) data: Vec<MessageRecord>,
    /// Whether there are more in the direction that was asked for.
    pub(crate) has_more: bool,
}

/// A page of a thread's messages, in order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MessagePage {
    pub(crate) data: Vec<MessageRecord>,
    /// Whether there are older ones.
    pub(crate) has_more: bool,
    /// The `before_seq` of the next page.
    pub(crate) next_before_seq: Option<u64>,
}

/// What the runs of a thread took.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TokenUsage {
    thread_id: String,
    total_tokens: u64,
    total_input_tokens: u64,
    total_output_tokens: u64,
    total_runs: usize,
    by_model: BTreeMap<String, ModelUsage>,
    by_caller: CallerUsage,
}

/// What one model took.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelUsage {
    tokens: u64,
    input_tokens: u64,
    output_tokens: u64,
    /// Runs that used it.
    runs: usize,
}

/// Who took it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CallerUsage {
    lead_agent: u64,
    subagent: u64,
    middleware: u64,
}

impl TokenUsage {
    pub(crate) fn new(thread: &ThreadId, tokens: Tokens) -> Self {
        let model = |(name, (used, runs)): (String, (Usage, usize))| {
            let Usage { input_tokens, output_tokens, total_tokens: tokens } = used;
            (name, ModelUsage { tokens, input_tokens, output_tokens, runs })
        };
        Self {
            thread_id: thread.to_string(),
            total_tokens: tokens.all.total_tokens,
            total_input_tokens: tokens.all.input_tokens,
            total_output_tokens: tokens.all.output_tokens,
            total_runs: tokens.runs,
            by_model: tokens.by_model.into_iter().map(model).collect(),
            by_caller: CallerUsage {
                lead_agent: tokens.lead,
                subagent: tokens.subagent,
                middleware: tokens.middleware,
            },
        }
    }
}
