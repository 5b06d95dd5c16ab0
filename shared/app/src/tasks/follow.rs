//! Following a thread: snapshots of its tasks as they change (DESIGN section 7). No log: who was away is told again what changed
//! since a watermark, may see a state twice, and never misses the latest.
//!
//! The first look goes through the thread's tasks once. After that only those that have not ended are looked at, many in one
//! request, and new ones by the newest end of the list: what a look costs does not depend on how many tasks the thread had.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pudu_domain::snapshot::Status;
use pudu_domain::task::State;
use pudu_domain::text::Snippet;
use pudu_domain::thread::Thread;
use pudu_domain::{Generation, ServerName, Task, TaskId, TaskKey, TaskName, ThreadKey, Timestamp};
use serde_json::Value;

use super::{Listed, Tasks};
use crate::ports::StoreError;
use crate::threads::Threads;

/// How much older than the watermark a change may be that is told again: clocks differ, and a write may land that long after
/// its time was read.
pub const OVERLAP: Duration = Duration::from_secs(10);
/// How many of a thread's newest tasks are followed, at most.
pub const FOLLOWED: usize = 1_000;
/// How many tasks a follower without a watermark is told of besides those that go on.
pub const SHOWN_FIRST: usize = 50;
/// How many tasks one look asks for: more of them take turns.
const AT_ONCE: usize = 100;
/// Tasks of one page of the first look.
const PAGE: usize = 100;
/// Tasks of the first page when only new ones are looked for: nearly always there is none.
const NEW_ONES: usize = 2;
/// Between two looks at the thread itself.
const THREAD_LOOKED_AT: Duration = Duration::from_secs(5);

/// A task as a follower is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// As in a list.
    pub listed: Listed,
    /// The question, if its server waits for an answer.
    pub question: Option<Value>,
}

/// What a look found.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// Where to go on from: all that was written long enough before this was seen.
    pub watermark: Timestamp,
    /// The tasks that changed, the oldest first.
    pub changed: Vec<Followed>,
    /// Whether the thread is gone: then nothing follows.
    pub is_over: bool,
}

/// One who follows a thread.
pub struct Follower {
    tasks: Tasks,
    threads: Threads,
    thread: ThreadKey,
    /// Those that have not ended.
    watched: BTreeMap<TaskId, Watched>,
    /// Where the turn of those that are looked at ended.
    turn: Option<TaskId>,
    /// The known ones among those that were made not long before the last look: a task that was made by a clock that is behind
    /// comes in among them.
    recent: BTreeSet<TaskId>,
    /// When the last look began.
    looked: Timestamp,
    /// The thread's row, as it was when it was last looked at, and when that was.
    seen: Option<(Option<Thread>, Timestamp)>,
}

/// One task that goes on.
struct Watched {
    name: TaskName,
    server: ServerName,
    version: Version,
    /// What was told of it; nothing as long as it is not known whether there will be a task.
    told: Option<Shown>,
    /// When a look at it began the last time.
    looked: Timestamp,
}

/// The order of a row's images: a claim raises the generation, a note left beside it the wake counter, and a commit takes the
/// lease away. Clocks do not come into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version(Generation, u64, bool);

/// What of a row makes a change that is told: not that it was polled once more.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shown {
    status: Status,
    error: Option<Snippet>,
    degraded: bool,
    cancel_requested: bool,
    event_version: u32,
    payload: Option<String>,
}

impl Follower {
    /// Follows `thread` from the beginning.
    pub fn new(tasks: Tasks, threads: Threads, thread: ThreadKey) -> Self {
        let (watched, recent, looked) = (BTreeMap::new(), BTreeSet::new(), Timestamp::default());
        Self { tasks, threads, thread, watched, turn: None, recent, looked, seen: None }
    }

    /// The first look: what changed after `since` and a little before, or else how things stand.
    pub async fn begin(&mut self, since: Option<Timestamp>) -> Result<Look, StoreError> {
        let watermark = self.now();
        if self.is_over(watermark).await? {
            return Ok(Look { watermark, changed: Vec::new(), is_over: true });
        }
        let (mut rows, mut before) = (Vec::new(), None);
        while rows.len() < FOLLOWED {
            let page = self.tasks.list(&self.thread, PAGE, before.as_ref()).await?;
            let is_last = page.len() < PAGE;
            before = page.last().map(|row| row.task.key.id.clone());
            rows.extend(page);
            if is_last {
                break;
            }
        }
        let told = |place: usize, task: &Task| match since {
            Some(since) => task.updated_at + OVERLAP >= since,
            None => place < SHOWN_FIRST || !task.status().is_terminal(),
        };
        self.looked = watermark;
        let mut changed = Vec::new();
        for (place, row) in rows.into_iter().enumerate() {
            let is_told = told(place, &row.task);
            changed.extend(self.take_in(row).filter(|_| is_told));
        }
        self.looked_at(watermark);
        self.tell(watermark, changed).await
    }

    /// What has changed since the last look.
    pub async fn look(&mut self) -> Result<Look, StoreError> {
        let watermark = self.now();
        if self.is_over(watermark).await? {
            return Ok(Look { watermark, changed: Vec::new(), is_over: true });
        }
        let mut changed = Vec::new();
        for row in self.new_ones().await? {
            changed.extend(self.take_in(row));
        }
        self.looked_at(watermark);
        let asked = self.whose_turn();
        let mut missing: BTreeSet<TaskId> = asked.iter().map(|key| key.id.clone()).collect();
        for task in self.tasks.settle.tasks.glance(&asked).await? {
            missing.remove(&task.key.id);
            let Some(watched) = self.watched.get(&task.key.id) else { continue };
            let listed = self.tasks.listed(task, watched.name.clone(), watched.server.clone());
            changed.extend(self.take_in(listed));
        }
        // A call that was answered at once after all. A new row may be missing because the look is behind.
        for id in missing.into_iter().filter(|id| id.made_at() + OVERLAP < watermark) {
            self.watched.remove(&id);
        }
        self.tell(watermark, changed).await
    }

    /// Looks at the thread itself the next time, too.
    pub fn hurry(&mut self) {
        if let Some((_, at)) = &mut self.seen {
            *at = Timestamp::default();
        }
    }

    /// Takes a row in, and gives it back if it says something new.
    fn take_in(&mut self, row: Listed) -> Option<Listed> {
        let id = row.task.key.id.clone();
        self.recent.insert(id.clone());
        let (version, shown) = (Version::of(&row.task), Shown::of(&row));
        let before = self.watched.remove(&id);
        let (known, told) = before.map_or((None, None), |before| (Some(before.version), before.told));
        let looked = self.looked;
        let (name, server) = (row.name.clone(), row.server.clone());
        // A look may be behind an earlier one.
        if known.is_some_and(|known| version < known) {
            self.watched.extend(known.map(|version| (id, Watched { name, server, version, told, looked })));
            return None;
        }
        // What may still be answered at once is no task yet, and would have to be taken back.
        let is_task = !matches!(row.task.state, State::Intent { .. });
        let is_new = is_task && told.as_ref() != Some(&shown);
        if !row.task.status().is_terminal() {
            let told = if is_task { Some(shown) } else { told };
            self.watched.insert(id, Watched { name, server, version, told, looked });
        }
        is_new.then_some(row)
    }

    /// The tasks that came since the last look.
    async fn new_ones(&self) -> Result<Vec<Listed>, StoreError> {
        let may_be_new = |id: &TaskId| id.made_at() + OVERLAP >= self.looked;
        let (mut found, mut before, mut at_once) = (Vec::new(), None, NEW_ONES);
        while found.len() < FOLLOWED {
            let page = self.tasks.list(&self.thread, at_once, before.as_ref()).await?;
            let is_end = page.len() < at_once;
            before = page.last().map(|row| row.task.key.id.clone());
            let new = |row: &Listed| may_be_new(&row.task.key.id) && !self.recent.contains(&row.task.key.id);
            found.extend(page.into_iter().filter(new));
            if is_end || !before.as_ref().is_some_and(may_be_new) {
                break;
            }
            at_once = PAGE;
        }
        Ok(found)
    }

    /// Notes that a look began at that time; what is too old to be taken for new is forgotten.
    fn looked_at(&mut self, watermark: Timestamp) {
        self.looked = watermark;
        while self.recent.first().is_some_and(|id| id.made_at() + OVERLAP < watermark) {
            self.recent.pop_first();
        }
    }

    /// Those that are looked at now.
    fn whose_turn(&mut self) -> Vec<TaskKey> {
        let after = self.turn.take();
        let behind = self.watched.keys().filter(|id| after.as_ref().is_none_or(|after| *id > after));
        let ahead = self.watched.keys().filter(|id| after.as_ref().is_some_and(|after| *id <= after));
        let ids: Vec<TaskId> = behind.chain(ahead).take(AT_ONCE).cloned().collect();
        self.turn = ids.last().cloned();
        for id in &ids {
            if let Some(watched) = self.watched.get_mut(id) {
                watched.looked = self.looked;
            }
        }
        ids.into_iter().map(|id| TaskKey { thread: self.thread.clone(), id }).collect()
    }

    /// Whether the thread is being deleted, is gone, or is another one by the same name.
    async fn is_over(&mut self, now: Timestamp) -> Result<bool, StoreError> {
        if self.seen.as_ref().is_some_and(|(_, at)| now.is_within(THREAD_LOOKED_AT, *at)) {
            return Ok(false);
        }
        let thread = self.threads.store.load(&self.thread).await?;
        let before = self.seen.take().and_then(|(before, _)| before);
        let is_over = match (&before, &thread) {
            (_, Some(now)) if now.is_going() => true,
            (Some(before), Some(now)) => before.created_at != now.created_at,
            (Some(_), None) => true,
            (None, _) => false,
        };
        self.seen = Some((thread, now));
        Ok(is_over)
    }

    /// A follower that goes on from here is told what those have done that wait for their turn.
    async fn tell(&self, now: Timestamp, rows: Vec<Listed>) -> Result<Look, StoreError> {
        let oldest = self.watched.values().map(|watched| watched.looked).min();
        let watermark = oldest.map_or(now, |oldest| oldest.min(now));
        let mut changed = Vec::with_capacity(rows.len());
        for listed in rows {
            let asks = listed.task.status() == Status::InputRequired;
            let question = if asks && listed.task.payload.is_some() {
                self.tasks.settle.tasks.payload(&listed.task.key).await?.input_required
            } else {
                None
            };
            changed.push(Followed { listed, question });
        }
        changed.sort_by(|a, b| a.listed.task.key.cmp(&b.listed.task.key));
        Ok(Look { watermark, changed, is_over: false })
    }

    fn now(&self) -> Timestamp {
        self.tasks.settle.clock.now()
    }
}

impl Version {
    fn of(task: &Task) -> Self {
        Self(task.durable.generation, task.durable.wake, task.durable.lease.is_none())
    }
}

impl Shown {
    fn of(row: &Listed) -> Self {
        let task = &row.task;
        Self {
            status: task.status(),
            error: task.error.clone(),
            degraded: row.degraded,
            cancel_requested: task.cancel.is_some(),
            event_version: task.attention.version,
            payload: task.payload.clone(),
        }
    }
}
