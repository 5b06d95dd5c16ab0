//! What readers see of runs: chains of checkpoints, lists.

use pudu_app::ports::StoreError;
use pudu_domain::run::{Checkpoint, Origin, SNAPSHOT_EVERY};
use pudu_domain::{Conversation, Run, RunId, RunKey, RunSpec, ThreadId, ThreadKey, Timestamp, UserId};

use crate::item::{checkpoint, conversation, run, run_spec};
use crate::key::{AFTER_DIGITS, AFTER_RUNS, Key, RUNS, listed_pk, thread_pk};
use crate::range::Range;
use crate::row::{Reader, Row};
use crate::table::Table;

impl Table {
    pub(super) async fn chain(&self, run: &RunKey, number: u32) -> Result<Vec<Checkpoint>, StoreError> {
        let page = usize::try_from(SNAPSHOT_EVERY).unwrap_or(usize::MAX);
        let (mut range, mut chain) = (newest_checkpoints("load_checkpoints", run, number), Vec::new());
        'pages: while let Some(rows) = range.page(self, page).await? {
            for row in rows {
                let found = checkpoint::decode(&row)?;
                let whole = checkpoint::is_whole(&found);
                chain.push(found);
                if whole {
                    break 'pages;
                }
            }
        }
        // Of a checkpoint that is not there, what came before it is not the state.
        if chain.first().is_none_or(|newest| newest.number != number) {
            return Ok(Vec::new());
        }
        chain.reverse();
        Ok(chain)
    }

    pub(super) async fn checkpoints_before(
        &self,
        run: &RunKey,
        number: u32,
        limit: usize,
    ) -> Result<Vec<Checkpoint>, StoreError> {
        let (mut range, mut found) = (newest_checkpoints("list_checkpoints", run, number), Vec::new());
        while found.len() < limit {
            let Some(rows) = range.page(self, limit - found.len()).await? else { break };
            for row in rows.iter().take(limit - found.len()) {
                found.push(checkpoint::decode(row)?);
            }
        }
        Ok(found)
    }

    /// Strongly consistent, so that whoever just began a run sees it. Rows that do not decode are left out and logged: one of
    /// them must not hide a thread's other runs.
    pub(super) async fn newest_runs(
        &self,
        thread: &ThreadKey,
        limit: usize,
        before: Option<&RunId>,
    ) -> Result<Vec<(Run, RunSpec)>, StoreError> {
        let key = |id: &RunId| Key::Run(RunKey { thread: thread.clone(), id: id.clone() }).sk();
        let last = before.map_or_else(|| AFTER_RUNS.to_owned(), key);
        let mut range = Range::new("list_runs", thread_pk(thread), RUNS.to_owned(), last).newest_first();
        // Backwards, a run's spec comes first; `before` itself is the upper bound and is skipped.
        let page = limit.saturating_mul(2).saturating_add(1);
        let (mut runs, mut spec) = (Vec::new(), None);
        while runs.len() < limit {
            let Some(rows) = range.page(self, page).await? else { break };
            for row in rows {
                match Reader::unversioned(run::ITEM, &row).key() {
                    Ok(Key::RunSpec(key)) => spec = Some((key, row)),
                    Ok(Key::Run(key)) if Some(&key.id) != before && runs.len() < limit => {
                        let spec = spec.take().filter(|(of, _)| *of == key).map(|(_, row)| row);
                        runs.extend(pair(&row, spec.as_ref()));
                    }
                    _ => {}
                }
            }
        }
        Ok(runs)
    }

    pub(super) async fn conversations_of(
        &self,
        user: &UserId,
        limit: usize,
        before: Option<&(Timestamp, ThreadId)>,
    ) -> Result<Vec<Conversation>, StoreError> {
        const OPERATION: &str = "list_conversations";
        let place = |(made, thread): &(Timestamp, ThreadId)| {
            let thread = ThreadKey { user: user.clone(), thread: thread.clone() };
            Key::Listed { thread, made: *made }.sk()
        };
        let last = before.map_or_else(|| AFTER_DIGITS.to_owned(), place);
        let mut range = Range::new(OPERATION, listed_pk(user), "0".to_owned(), last).newest_first();
        let mut found = Vec::new();
        while found.len() < limit {
            let Some(rows) = range.page(self, limit - found.len()).await? else { break };
            let listed = rows.iter().filter_map(|row| match Reader::unversioned(OPERATION, row).key() {
                Ok(Key::Listed { thread, .. }) => Some(Key::Conversation(thread)),
                _ => None,
            });
            let rows = self.batch(OPERATION, &listed.collect::<Vec<_>>(), true).await?;
            let unfit = |error: &StoreError| tracing::error!(%error, "a conversation was left out of a list");
            let mut page: Vec<Conversation> = rows
                .iter()
                .filter_map(|row| conversation::decode(row).inspect_err(unfit).ok())
                // The range ends with the place itself.
                .filter(|it| {
                    before.is_none_or(|(made, thread)| (it.created_at, &it.thread.thread) < (*made, thread))
                })
                .collect();
            page.sort_by(|a, b| (b.created_at, &b.thread).cmp(&(a.created_at, &a.thread)));
            found.extend(page);
        }
        found.truncate(limit);
        Ok(found)
    }
}

fn newest_checkpoints(operation: &'static str, run: &RunKey, number: u32) -> Range {
    let key = |number| Key::Checkpoint(run.clone(), number).sk();
    Range::new(operation, thread_pk(&run.thread), key(0), key(number)).newest_first()
}

/// A run of the thread's own with its spec; none for a child.
fn pair(hot: &Row, spec: Option<&Row>) -> Option<(Run, RunSpec)> {
    let (run, spec) = match (run::decode(hot), spec.map(run_spec::decode)) {
        (Ok(run), _) if run.origin != Origin::Lead => return None,
        (Ok(run), Some(Ok(spec))) => return Some((run, spec)),
        (run, spec) => (run.err(), spec.and_then(Result::err)),
    };
    let key = Reader::unversioned(run::ITEM, hot).key().ok().map(|key| key.to_string());
    let error = run.or(spec).map_or_else(|| "its spec is missing".to_owned(), |error| error.to_string());
    tracing::error!(store.key = key, error, "a run was left out of its thread's list");
    None
}
