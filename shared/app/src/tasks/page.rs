//! One page of a thread's list: perhaps only of some statuses, and never more read for it than a bound.

use pudu_domain::snapshot::Status;
use pudu_domain::{TaskId, ThreadKey};

use super::{Listed, Tasks};
use crate::ports::StoreError;

/// How many tasks are read at a time where not each is shown.
const AT_ONCE: usize = 100;
/// How many tasks are looked at for one page, at most: about 110 read units.
pub const LOOKED_AT: usize = 300;

/// Which part of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// Tasks at most; at least 1.
    pub limit: usize,
    /// Only those older than this one.
    pub before: Option<TaskId>,
    /// Only those that stand so; all when none is named.
    pub statuses: Vec<Status>,
}

/// A page.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The tasks, the newest first. May be fewer than the limit although more follow: then enough was looked at.
    pub rows: Vec<Listed>,
    /// Before which task the next page begins; none at the end.
    pub next: Option<TaskId>,
}

impl Tasks {
    /// A part of a thread's tasks, the newest first.
    pub async fn page(&self, thread: &ThreadKey, part: &Part) -> Result<Page, StoreError> {
        let Part { limit, before, statuses } = part;
        // One more than is shown tells whether anything follows.
        let at_once = if statuses.is_empty() { limit.saturating_add(1) } else { AT_ONCE };
        let (mut rows, mut last, mut looked) = (Vec::new(), before.clone(), 0);
        loop {
            let found = self.list(thread, at_once, last.as_ref()).await?;
            let is_end = found.len() < at_once;
            for row in found {
                if rows.len() >= *limit || looked >= LOOKED_AT {
                    return Ok(Page { rows, next: last });
                }
                looked += 1;
                last = Some(row.task.key.id.clone());
                if statuses.is_empty() || statuses.contains(&row.task.status()) {
                    rows.push(row);
                }
            }
            if is_end {
                return Ok(Page { rows, next: None });
            }
        }
    }
}
