//! Threads in the table.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::{StreamExt, TryStreamExt, stream};
use pudu_app::ports::{Committed, Erased, StoreError, ThreadStore};
use pudu_domain::thread::{Change, Thread};
use pudu_domain::{Expect, Lane, Lease, Note, Owner, RunKey, ThreadKey};

use crate::condition::Expression;
use crate::durable_row::{Claim, judge};
use crate::item::{conversation, note, run, run_spec, spec, thread};
use crate::key::{AFTER_RUNS, Key, NOTES, RUNS, THREAD_SHARD, thread_pk};
use crate::range::Range;
use crate::retry::Answer;
use crate::row::{Reader, Row, attr, key_of};
use crate::table::Table;
use crate::write::{When, Write};

/// Rows that are removed between two looks at the claim.
const PAGE: i32 = 100;
/// Rows that are removed side by side.
const AT_ONCE: usize = 16;
const ERASE: &str = "erase_thread";

#[async_trait]
impl ThreadStore for Table {
    async fn load(&self, key: &ThreadKey) -> Result<Option<Thread>, StoreError> {
        self.get("load_thread", &Key::Thread(key.clone()), true)
            .await?
            .as_ref()
            .map(thread::decode)
            .transpose()
    }

    async fn claim(&self, key: &ThreadKey, lease: Lease) -> Result<Option<Thread>, StoreError> {
        self.claim_row(Claim {
            operation: "claim_thread",
            key: Key::Thread(key.clone()),
            shard: THREAD_SHARD,
            lane: Lane::Delete,
            lease,
            decode: thread::decode,
        })
        .await
    }

    async fn commit(&self, change: &Change) -> Result<Committed, StoreError> {
        const OPERATION: &str = "commit_thread";
        let when = match change.expect {
            // An open thread has no generation: it is written beside submissions, which never touch one.
            Expect::Unchanged { .. } => When::Standing,
            Expect::Held { .. } | Expect::Absent { .. } => When::Expect(change.expect.clone()),
        };
        let answer = if change.removed {
            self.remove(OPERATION, &key_of(&Key::Thread(change.thread.key.clone())), &when).await?
        } else {
            self.write(OPERATION, &[Write::put(thread::ITEM, thread::encode(&change.thread), when)]).await?
        };
        match answer {
            Answer::Done(()) => Ok(Committed::Done),
            Answer::Failed(failed) => judge(thread::ITEM, &change.expect, 0, &failed),
        }
    }

    /// Notifications that do not decode are left out and logged: nobody can work on them, and they go with the thread.
    async fn live_notes(&self, key: &ThreadKey, limit: usize) -> Result<Vec<Note>, StoreError> {
        let (mut notes, mut start) = (Vec::new(), None);
        loop {
            let condition = Expression::new("#pk = :pk AND begins_with(#sk, :notes)")
                .names(&[attr::PK, attr::SK])
                .value(":pk", AttributeValue::S(thread_pk(key)))
                .value(":notes", AttributeValue::S(NOTES.to_owned()));
            let output = self
                .query("live_notes", condition, |query| {
                    query.consistent_read(true).set_exclusive_start_key(start.take())
                })
                .await?;
            for row in output.items.unwrap_or_default() {
                match note::decode(&row) {
                    Ok(note) if note.durable.is_live() => notes.push(note),
                    Ok(_) => {}
                    Err(error) => tracing::error!(%error, "a notification was left out of its thread's list"),
                }
                if notes.len() == limit {
                    return Ok(notes);
                }
            }
            start = output.last_evaluated_key;
            if start.is_none() {
                return Ok(notes);
            }
        }
    }

    /// Runs that do not decode are left out and logged: nobody can work on them, and they go with the thread.
    async fn live_runs(&self, key: &ThreadKey, limit: usize) -> Result<Vec<RunKey>, StoreError> {
        let (first, last) = (RUNS.to_owned(), AFTER_RUNS.to_owned());
        let (mut range, mut runs) = (Range::new("live_runs", thread_pk(key), first, last), Vec::new());
        while let Some(rows) = range.page(self, usize::MAX).await? {
            for row in
                rows.iter().filter(|row| matches!(Reader::unversioned(run::ITEM, row).key(), Ok(Key::Run(_))))
            {
                match run::decode(row) {
                    Ok(run) if run.end().is_none() => runs.push(run.key),
                    Ok(_) => {}
                    Err(error) => tracing::error!(%error, "a run was left out of its thread's list"),
                }
                if runs.len() == limit {
                    return Ok(runs);
                }
            }
        }
        Ok(runs)
    }

    async fn erase(&self, held: &Thread) -> Result<Erased, StoreError> {
        let shown = [&[attr::PK, attr::SK, attr::CREATED_AT], spec::OWNED.as_slice()].concat();
        let condition =
            Expression::new("#pk = :pk").names(&shown).value(":pk", AttributeValue::S(thread_pk(&held.key)));
        let shown = shown.iter().map(|name| format!("#{name}")).collect::<Vec<_>>().join(", ");
        let output = self
            .query_all(ERASE, condition, |query| {
                query.projection_expression(shown).consistent_read(true).limit(PAGE)
            })
            .await?;
        let own = Key::Thread(held.key.clone()).sk();
        let rows: Vec<Row> = output.items.unwrap_or_default();
        let rows: Vec<Row> = rows.into_iter().filter(|row| !has_sort_key(row, &own)).collect();
        if rows.is_empty() && output.last_evaluated_key.is_none() {
            return Ok(Erased::All);
        }
        // After the rows were found: as long as the claim stands they are this thread's, and not those of a later one by the
        // same name. Ids of tasks never come again, so what goes below is what was found.
        let now = ThreadStore::load(self, &held.key).await?;
        if now.is_none_or(|now| now.durable.lease.map(|lease| lease.owner) != owner(held)) {
            return Ok(Erased::Lost);
        }
        // First what specs name, then the specs: a crash in between loses none.
        let owned = rows.iter().flat_map(owned).map(|(key, when)| (key_of(&key), when));
        self.remove_all(owned.collect()).await?;
        self.remove_all(rows.iter().map(|row| (address(row), When::Always)).collect()).await?;
        Ok(Erased::Some)
    }
}

impl Table {
    /// Removes rows side by side; one that is not there, or not as it must be, is as good as removed.
    async fn remove_all(&self, rows: Vec<(Row, When)>) -> Result<(), StoreError> {
        let removals = rows
            .into_iter()
            .map(|(key, when)| async move { self.remove(ERASE, &key, &when).await.map(drop) });
        stream::iter(removals).buffer_unordered(AT_ONCE).try_collect().await
    }
}

/// What belongs to a task, a run or the conversation of a row, is named by something else than the thread, and goes if it is
/// still theirs.
fn owned(row: &Row) -> Vec<(Key, When)> {
    match Reader::unversioned(spec::ITEM, row).key() {
        Ok(Key::Spec(task)) => {
            let owner = When::OwnedBy(Key::Task(task.clone()));
            spec::owned(row, &task).into_iter().map(|key| (key, owner.clone())).collect()
        }
        Ok(Key::RunSpec(run)) => {
            let owner = When::OwnedBy(Key::Run(run.clone()));
            run_spec::owned(row, &run).into_iter().map(|key| (key, owner.clone())).collect()
        }
        // Nobody else has a conversation of this thread: a later one is made of another moment.
        Ok(Key::Conversation(thread)) => {
            conversation::listed(row, &thread).into_iter().map(|key| (key, When::Always)).collect()
        }
        _ => Vec::new(),
    }
}

fn address(row: &Row) -> Row {
    let keys = row.iter().filter(|(name, _)| [attr::PK, attr::SK].contains(&name.as_str()));
    keys.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn owner(thread: &Thread) -> Option<Owner> {
    thread.durable.lease.as_ref().map(|lease| lease.owner.clone())
}

fn has_sort_key(row: &Row, sk: &str) -> bool {
    matches!(row.get(attr::SK), Some(AttributeValue::S(text)) if text == sk)
}
