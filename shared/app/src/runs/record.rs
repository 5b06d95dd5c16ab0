//! What runs left in the history of their thread, and what they took.

use std::collections::BTreeMap;

use pudu_domain::ThreadKey;
use pudu_domain::chat::Usage;
use pudu_domain::run::Notice;

use super::{RUNS_AT_ONCE, Runs};
use crate::ports::{Record, RecordQuery, StoreError};

/// Records of one page that is filtered.
const AT_ONCE: usize = 50;
/// Bytes of JSON with which an answer is full, however few records it has.
pub(super) const FULL: usize = 2 * 1024 * 1024;
/// What one run's numbers are apart from the next one's, in the number of a record in its thread.
const APART: u64 = 1_000_000_000;

/// What the runs of a thread took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Runs that were counted.
    pub runs: usize,
    /// All of it.
    pub all: Usage,
    /// By model, with the number of runs that used it.
    pub by_model: BTreeMap<String, (Usage, usize)>,
    /// Of the agents themselves.
    pub lead: u64,
    /// Of their subagents.
    pub subagent: u64,
    /// Of middlewares.
    pub middleware: u64,
}

/// The number of a record in its thread: it grows from record to record, with gaps between runs.
pub fn position(record: &Record) -> u64 {
    u64::from(record.ordinal).saturating_mul(APART).saturating_add(record.seq)
}

/// The place that such a number names.
pub fn place(position: u64) -> (u32, u64) {
    (u32::try_from(position / APART).unwrap_or(u32::MAX), position % APART)
}

impl Runs {
    /// Records of a thread that `wanted` takes, in the order of `query`, at most as many as it says and no more than an answer holds;
    /// and whether there are more.
    pub async fn records(
        &self,
        thread: &ThreadKey,
        query: &RecordQuery,
        wanted: impl Fn(&Record) -> bool,
    ) -> Result<(Vec<Record>, bool), StoreError> {
        let newest_first = query.newest_first || query.before.is_some();
        let limit = query.limit;
        let mut query = RecordQuery { limit: AT_ONCE, ..query.clone() };
        let (mut found, mut bytes) = (Vec::new(), 0);
        loop {
            let page = self.store.records(thread, &query).await?;
            let last = page.last().map(|record| (record.ordinal, record.seq));
            let is_last = page.len() < query.limit;
            if newest_first {
                query.before = last;
            } else {
                query.after = last;
            }
            for record in page.into_iter().filter(&wanted) {
                if found.len() == limit || (bytes >= FULL && !found.is_empty()) {
                    return Ok((found, true));
                }
                bytes += size(&record);
                found.push(record);
            }
            if is_last {
                return Ok((found, false));
            }
        }
    }

    /// What a thread's runs took.
    pub async fn tokens(&self, thread: &ThreadKey) -> Result<Tokens, StoreError> {
        let (mut tokens, mut before) = (Tokens::default(), None);
        loop {
            let page = self.store.runs(thread, RUNS_AT_ONCE, before.as_ref()).await?;
            before = page.last().map(|(run, _)| run.key.id.clone());
            let is_last = page.len() < RUNS_AT_ONCE;
            for (run, _) in page {
                tokens.runs += 1;
                tokens.all += run.totals.tokens;
                tokens.lead += run.totals.lead;
                tokens.subagent += run.totals.subagent;
                tokens.middleware += run.totals.middleware;
                for (model, used) in run.totals.by_model {
                    let (all, runs) = tokens.by_model.entry(model).or_default();
                    *all += used;
                    *runs += 1;
                }
            }
            if is_last {
                return Ok(tokens);
            }
        }
    }
}

/// What it takes in an answer, about.
fn size(record: &Record) -> usize {
    match &record.notice {
        Notice::Record { content, metadata, .. } => content.to_string().len() + metadata.to_string().len(),
        Notice::Frame { .. } | Notice::Values { .. } => 0,
    }
}

/// Whether it is a record of that category.
pub fn is_of(record: &Record, wanted: &str) -> bool {
    matches!(&record.notice, Notice::Record { category, .. } if category == wanted)
}
