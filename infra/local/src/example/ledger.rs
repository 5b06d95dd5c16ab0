//! The reports and the log in memory: a fold over entries, without I/O or a clock.
//!
//! The same fold runs while serving and while the state file is read, so what a restart finds is what was served.

use std::collections::{HashMap, VecDeque};

use pudu_domain::Timestamp;
use serde::{Deserialize, Serialize};

use super::push_bounded;
use super::report::{Answer, Report};

/// One durable change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    Submitted(Report),
    Cancelled { id: String, at: Timestamp },
    Answered { id: String, answer: Answer },
}

/// One call that the server saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When.
    pub at: Timestamp,
    /// Of which report.
    pub id: String,
    /// What.
    pub act: Act,
}

/// What a call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Ordered the report.
    Submitted,
    /// Cancelled it.
    Cancelled,
    /// Would have cancelled it, but it had ended or is not known.
    CancelledInVain,
    /// Answered its question.
    Answered,
    /// Would have answered it, but it asks nothing or is not known.
    AnsweredInVain,
}

/// The reports, oldest first and by id, and the log.
#[derive(Debug)]
pub(super) struct Ledger {
    limit: usize,
    reports: HashMap<String, Report>,
    order: VecDeque<String>,
    seen: VecDeque<Seen>,
}

impl Ledger {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, reports: HashMap::new(), order: VecDeque::new(), seen: VecDeque::new() }
    }

    pub(super) fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Submitted(report) => {
                self.note(Seen { at: report.submitted_at, id: report.id.clone(), act: Act::Submitted });
                if let Some(at) = report.cancelled_at {
                    self.note(Seen { at, id: report.id.clone(), act: Act::Cancelled });
                }
                if let Some(Answer { at, .. }) = report.answer {
                    self.note(Seen { at, id: report.id.clone(), act: Act::Answered });
                }
                self.order.push_back(report.id.clone());
                self.reports.insert(report.id.clone(), report);
            }
            Entry::Cancelled { id, at } => {
                if let Some(report) = self.reports.get_mut(&id) {
                    report.cancelled_at = Some(at);
                }
                self.note(Seen { at, id, act: Act::Cancelled });
            }
            Entry::Answered { id, answer } => {
                let at = answer.at;
                if let Some(report) = self.reports.get_mut(&id) {
                    report.answer = Some(answer);
                }
                self.note(Seen { at, id, act: Act::Answered });
            }
        }
    }

    /// A call that changed nothing.
    pub(super) fn note_idle(&mut self, act: Act, id: &str, at: Timestamp) {
        self.note(Seen { at, id: id.to_owned(), act });
    }

    /// Whether one more report fits, after forgetting finished ones if it must. A tenth goes at once, so that the
    /// pass over all of them is paid once per many submits.
    pub(super) fn make_room(&mut self, now: Timestamp) -> bool {
        if self.reports.len() < self.limit {
            return true;
        }
        let mut excess = self.reports.len() - self.limit + (self.limit / 10).max(1);
        let reports = &mut self.reports;
        self.order.retain(|id| {
            let drop = excess > 0 && reports.get(id).is_none_or(|report| report.state(now).is_final());
            if drop {
                reports.remove(id);
                excess -= 1;
            }
            !drop
        });
        self.reports.len() < self.limit
    }

    pub(super) fn get(&self, id: &str) -> Option<&Report> {
        self.reports.get(id)
    }

    pub(super) fn len(&self) -> usize {
        self.reports.len()
    }

    pub(super) fn reports(&self) -> impl Iterator<Item = &Report> {
        self.order.iter().filter_map(|id| self.reports.get(id))
    }

    /// The shortest list of entries that folds to these reports.
    pub(super) fn entries(&self) -> Vec<Entry> {
        self.reports().cloned().map(Entry::Submitted).collect()
    }

    pub(super) fn seen(&self) -> &VecDeque<Seen> {
        &self.seen
    }

    fn note(&mut self, seen: Seen) {
        push_bounded(&mut self.seen, seen, self.limit.saturating_mul(4));
    }
}
