//! A thread is to be compacted: admitted as a run that says nothing, so that it has the thread to itself, outlives whoever works on it,
//! and is cancelled and seen like any other (agent reference 2.1, 2.5).

use std::collections::BTreeMap;

use pudu_domain::run::{Compacted, Compaction, Notice, Operation, Strategy};
use pudu_domain::{Run, RunKey, Scope, ThreadKey};
use serde_json::{Map, Value, json};

use super::configured::LEAD;
use super::{AdmitError, Runs, Wanted};
use crate::ports::StoreError;

/// Frames of one page; a compaction tells a handful.
const AT_ONCE: usize = 100;

/// A compaction that is wanted.
#[derive(Debug, Clone)]
pub struct Compact {
    /// Of which thread; it must be there.
    pub thread: ThreadKey,
    /// How.
    pub compaction: Compaction,
    /// For which custom agent; none is the lead.
    pub agent: Option<String>,
    /// Which model writes the summary; none is the operator's choice.
    pub model: Option<String>,
    /// Which servers its caller may use: it uses none, and the thread goes on to remember them.
    pub scope: Scope,
}

impl Runs {
    /// Begins it. A thread with an active run is busy.
    pub async fn compact(&self, wanted: Compact) -> Result<Run, AdmitError> {
        let named = |name: &str, value: Option<&String>| value.map(|value| (name.to_owned(), json!(value)));
        let options =
            [named("agent_name", wanted.agent.as_ref()), named("model_name", wanted.model.as_ref())];
        let shown = match json!(wanted.compaction) {
            Value::Object(shown) => shown,
            _ => Map::new(),
        };
        let wanted = Wanted {
            operation: Operation::Compact(wanted.compaction),
            thread: wanted.thread,
            must_exist: true,
            assistant: wanted.agent.unwrap_or_else(|| LEAD.to_owned()),
            input: Vec::new(),
            options: options.into_iter().flatten().collect(),
            metadata: Map::new(),
            kwargs: shown,
            strategy: Strategy::Reject,
            scope: wanted.scope,
            base: None,
            secrets: BTreeMap::new(),
            key: None,
        };
        Ok(self.admit(wanted).await?.run)
    }

    /// What a compaction came to; none if it failed, has not ended, or ended so long ago that it is told no longer.
    pub async fn compacted(&self, run: &RunKey) -> Result<Option<Compacted>, StoreError> {
        let page = self.store.frames(run, 0, AT_ONCE).await?;
        Ok(page.told.iter().find_map(|told| match &told.notice {
            Notice::Frame { data, .. } => Compacted::read(data),
            _ => None,
        }))
    }
}
