//! Tasks in the table.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use pudu_app::ports::{Committed, StoreError, TaskStore};
use pudu_domain::task::{AnswerWrite, Change, PayloadWrite, State};
use pudu_domain::{Expect, Lane, Lease, Payload, Task, TaskId, TaskKey, TaskSpec, ThreadKey};
use serde_json::Value;

use crate::body::EncodeError;
use crate::condition::Expression;
use crate::durable_row::{Claim, judge};
use crate::item::{answer, handle, idempotency, news, note, payload, spec, task, thread};
use crate::key::{AFTER_TASKS, Key, TASKS, shard_of, thread_pk};
use crate::retry::{Answer, Failed};
use crate::row::{Row, attr, ending};
use crate::table::Table;
use crate::write::{When, Write};

#[cfg(test)]
mod tests;

/// The element of a commit that is the hot row: first, so that it is judged even by an engine that stops at the first
/// failed condition.
const HOT: usize = 0;

/// A change as writes, and which of them may fail for a reason of its own.
struct Plan {
    writes: Vec<Write>,
    handle: Option<usize>,
    repeatable: Option<usize>,
    thread: Option<usize>,
}

impl Plan {
    /// Pure: everything that becomes true together.
    fn of(change: &Change) -> Result<Self, EncodeError> {
        let key = &change.task.key;
        if change.erased {
            return Ok(Self::erasing(change));
        }
        let end = change.expires;
        let hot = ending(task::encode(&change.task), end);
        let hot = Write::put(task::ITEM, hot, When::Expect(change.expect.clone()));
        let mut plan = Self { writes: vec![hot], handle: None, repeatable: None, thread: None };
        if let Some(spec) = &change.spec {
            plan.add(Write::put(spec::ITEM, ending(spec::encode(key, spec)?, end), When::Always));
            if let Some(remote) = &spec.remote {
                let row = ending(handle::encode(key, spec, remote), end);
                plan.handle =
                    Some(plan.add(Write::put(handle::ITEM, row, When::Free(Key::Task(key.clone())))));
            }
        }
        let spec = change.spec.as_ref().filter(|_| is_birth(change) || end.is_some());
        if let Some(repeatable) = spec.and_then(|spec| spec.repeatable.as_ref()) {
            let row = ending(idempotency::encode(key, repeatable), end);
            plan.repeatable =
                Some(plan.add(Write::put(idempotency::ITEM, row, When::Free(Key::Task(key.clone())))));
        }
        match &change.payload {
            PayloadWrite::Keep => {}
            PayloadWrite::Put(new) => {
                plan.add(Write::put(payload::ITEM, ending(payload::encode(key, new)?, end), When::Always));
            }
            PayloadWrite::Clear => {
                plan.add(Write::Delete(Key::Payload(key.clone())));
            }
        }
        match &change.answer {
            AnswerWrite::Keep => {}
            AnswerWrite::Put(input) => {
                plan.add(Write::put(answer::ITEM, answer::encode(key, input)?, When::Always));
            }
            AnswerWrite::Clear => {
                plan.add(Write::Delete(Key::Answer(key.clone())));
            }
        }
        // Put without a condition: a version is made once, under the lease.
        if let Some(new) = &change.note {
            plan.add(Write::put(note::ITEM, note::encode(&new.note, None)?, When::Always));
            plan.add(Write::put(news::ITEM, news::encode(new)?, When::Always));
        }
        if is_birth(change) {
            plan.thread = Some(plan.add(thread::touch(&key.thread, change.task.created_at)));
        }
        Ok(plan)
    }

    /// What the birth wrote goes: what else a task has comes later.
    fn erasing(change: &Change) -> Self {
        let key = &change.task.key;
        let when = When::Expect(change.expect.clone());
        let hot = Write::Remove { key: Key::Task(key.clone()), when };
        let mut plan = Self { writes: vec![hot], handle: None, repeatable: None, thread: None };
        plan.add(Write::Delete(Key::Spec(key.clone())));
        if let Some(repeatable) = change.spec.as_ref().and_then(|spec| spec.repeatable.as_ref()) {
            plan.add(Write::Delete(idempotency::key(&key.thread, repeatable)));
        }
        plan
    }

    fn add(&mut self, write: Write) -> usize {
        self.writes.push(write);
        self.writes.len() - 1
    }

    /// What a failed condition means. That the commit had been applied before outranks everything; a handle that is
    /// another task's outranks a lost lease, because the loser must not cancel what somebody else tracks.
    fn judge(&self, change: &Change, failed: &Failed) -> Result<Committed, StoreError> {
        let hot =
            if failed.is_failed(HOT) { Some(judge(task::ITEM, &change.expect, HOT, failed)?) } else { None };
        // A row that is gone is all that an erasing one wants, whoever did it.
        let gone = change.erased && failed.is_failed(HOT) && failed.row(HOT).is_none();
        if hot == Some(Committed::Done) || gone {
            return Ok(Committed::Done);
        }
        if let Some(row) = self.handle.and_then(|element| failed.row(element)) {
            return Ok(Committed::HandleTaken(handle::decode(row)?));
        }
        if self.thread.is_some_and(|element| failed.is_failed(element)) {
            return Ok(Committed::ThreadGone);
        }
        if let Some(row) = self.repeatable.and_then(|element| failed.row(element)) {
            let (task, request) = idempotency::decode(row)?;
            return Ok(Committed::KeyTaken { task, request });
        }
        Ok(hot.unwrap_or(Committed::Lost))
    }
}

const fn is_birth(change: &Change) -> bool {
    matches!(change.expect, Expect::Absent { .. })
}

#[async_trait]
impl TaskStore for Table {
    async fn claim(&self, key: &TaskKey, lane: Lane, lease: Lease) -> Result<Option<Task>, StoreError> {
        self.claim_row(Claim {
            operation: "claim_task",
            key: Key::Task(key.clone()),
            shard: shard_of(&key.id),
            lane,
            lease,
            decode: task::decode,
        })
        .await
    }

    async fn load(&self, key: &TaskKey) -> Result<Option<Task>, StoreError> {
        self.get("load_task", &Key::Task(key.clone()), true).await?.as_ref().map(task::decode).transpose()
    }

    async fn glance(&self, keys: &[TaskKey]) -> Result<Vec<Task>, StoreError> {
        let keys: Vec<Key> = keys.iter().cloned().map(Key::Task).collect();
        let rows = self.batch("glance_at_tasks", &keys, false).await?;
        let unfit = |error: &StoreError| tracing::error!(%error, "a task was left out of a look at many");
        Ok(rows.iter().filter_map(|row| task::decode(row).inspect_err(unfit).ok()).collect())
    }

    async fn spec(&self, task: &Task) -> Result<Option<TaskSpec>, StoreError> {
        if let Some(spec) = self.specs.get(&task.key) {
            return Ok(Some(spec));
        }
        let key = Key::Spec(task.key.clone());
        let mut found = None;
        // Half the price first; it may be older than the task only while the handle is new.
        for consistent in [false, true] {
            found = self.get("load_spec", &key, consistent).await?.as_ref().map(spec::decode).transpose()?;
            let handle_expected = !matches!(task.state, State::Intent { .. });
            let fresh = found.as_ref().is_some_and(|spec| spec.remote.is_some() || !handle_expected);
            if fresh {
                break;
            }
        }
        if let Some(spec) = &found {
            self.specs.keep(&task.key, spec);
        }
        Ok(found)
    }

    async fn payload(&self, key: &TaskKey) -> Result<Payload, StoreError> {
        let row = self.get("load_payload", &Key::Payload(key.clone()), true).await?;
        row.as_ref().map_or_else(|| Ok(Payload::default()), payload::decode)
    }

    async fn answer(&self, key: &TaskKey) -> Result<Option<Value>, StoreError> {
        let row = self.get("load_answer", &Key::Answer(key.clone()), true).await?;
        row.as_ref().map(answer::decode).transpose()
    }

    async fn commit(&self, change: &Change) -> Result<Committed, StoreError> {
        const OPERATION: &str = "commit_task";
        let plan = Plan::of(change).map_err(|error| error.refused(OPERATION))?;
        let committed = match self.write(OPERATION, &plan.writes).await? {
            Answer::Done(()) => Committed::Done,
            Answer::Failed(failed) => plan.judge(change, &failed)?,
        };
        if let (Committed::Done, Some(spec), false) = (&committed, &change.spec, change.erased) {
            self.specs.keep(&change.task.key, spec);
        }
        Ok(committed)
    }

    /// Strongly consistent, so that whoever just submitted sees the task. Rows that do not decode are left out and
    /// logged: one of them must not hide a thread's other tasks.
    async fn list(
        &self,
        thread: &ThreadKey,
        limit: usize,
        before: Option<&TaskId>,
    ) -> Result<Vec<(Task, TaskSpec)>, StoreError> {
        let last = before.map_or_else(
            || AFTER_TASKS.to_owned(),
            |id| Key::Task(TaskKey { thread: thread.clone(), id: id.clone() }).sk(),
        );
        // Backwards, a task's spec comes first; `before` itself is the upper bound and is skipped.
        let page = i32::try_from(limit.saturating_mul(2).saturating_add(1)).unwrap_or(i32::MAX);
        let (mut tasks, mut spec, mut start) = (Vec::new(), None, None);
        while tasks.len() < limit {
            let condition = Expression::new("#pk = :pk AND #sk BETWEEN :first AND :last")
                .names(&[attr::PK, attr::SK])
                .value(":pk", AttributeValue::S(thread_pk(thread)))
                .value(":first", AttributeValue::S(TASKS.to_owned()))
                .value(":last", AttributeValue::S(last.clone()));
            let output = self
                .query("list_tasks", condition, |query| {
                    query
                        .scan_index_forward(false)
                        .consistent_read(true)
                        .limit(page)
                        .set_exclusive_start_key(start.take())
                })
                .await?;
            for row in output.items.unwrap_or_default() {
                match key_in(&row) {
                    Some(Key::Spec(key)) => spec = Some((key, row)),
                    Some(Key::Task(key)) if Some(&key.id) != before && tasks.len() < limit => {
                        let spec = spec.take().filter(|(of, _)| *of == key).map(|(_, row)| row);
                        tasks.extend(pair(&row, spec.as_ref()));
                    }
                    _ => {}
                }
            }
            start = output.last_evaluated_key;
            if start.is_none() {
                break;
            }
        }
        Ok(tasks)
    }
}

fn key_in(row: &Row) -> Option<Key> {
    match (row.get(attr::PK), row.get(attr::SK)) {
        (Some(AttributeValue::S(pk)), Some(AttributeValue::S(sk))) => Key::parse(pk, sk),
        _ => None,
    }
}

fn pair(hot: &Row, spec: Option<&Row>) -> Option<(Task, TaskSpec)> {
    let (task, spec) = match (task::decode(hot), spec.map(spec::decode)) {
        (Ok(task), Some(Ok(spec))) => return Some((task, spec)),
        (task, spec) => (task.err(), spec.and_then(Result::err)),
    };
    let key = key_in(hot).map(|key| key.to_string());
    let error = task.or(spec).map_or_else(|| "its spec is missing".to_owned(), |error| error.to_string());
    tracing::error!(store.key = key, error, "a task was left out of its thread's list");
    None
}
