//! One invocation of a background function.
//!
//! A slow item delays no other: every item runs in its own task, and a server at its limit keeps its items waiting. It ends
//! when nothing is due soon, when the deadline is near, or when somebody relieves it; then it waits for what runs, whose own
//! limits end before the deadline.
//!
//! The index is looked through rarely: in the beginning, when word was left, when there is room for what was left there, and
//! before what was seen ahead is over. What is due in between is known: it was seen ahead, or it was committed here.

use std::sync::Arc;
use std::time::Duration;

use pudu_domain::Timestamp;
use tokio::task::{JoinError, JoinSet};

use super::call::{Call, Stance};
use super::drain::{Drain, Ran, Report, Work};
use super::pass::Seen;
use super::queue::{Found, Queue};
use super::watch::{Answered, News, Watch};
use crate::deadline::Deadline;
use crate::ports::{SHARDS, Wake};

/// How often a shift looks up from what it waits for, and the least time between two looks through the index, unless there is
/// room for what was left there.
const MOMENT: Duration = Duration::from_secs(1);
/// Looks in a row that the table failed and that found nothing, after which a worker gives up: an outage is for the next tick
/// to find over, not to be paid for.
const FRUITLESS: u32 = 3;
/// Looks after word was left: the index may not have at first what the word was about.
const LOOKS_PER_KNOCK: u32 = 2;
/// Events of which one wake-up tells; more are found in the index.
const EVENTS: usize = 100;

/// What is asked beside the items.
enum Beside {
    Watch(Answered),
    Told,
}

pub(super) struct Shift<'a> {
    drain: &'a Drain,
    work: Arc<dyn Work>,
    deadline: Deadline,
    watch: Watch,
    relieved: bool,
    /// Whether it sees to everything: looks for more, and works again on what is due again.
    whole: bool,
    queue: Queue,
    running: JoinSet<(Found, Ran)>,
    beside: JoinSet<Beside>,
    /// When the index was last looked through.
    looked: Option<Timestamp>,
    /// Looks that are to follow a moment later.
    looks_wanted: u32,
    fruitless: u32,
    first_shard: u8,
    /// Events that nobody was woken for yet, and when somebody was.
    events: Vec<Wake>,
    told: Option<Timestamp>,
    report: Report,
}

impl<'a> Shift<'a> {
    pub(super) fn new(drain: &'a Drain, work: Arc<dyn Work>, deadline: Deadline) -> Self {
        let watch = Watch::new(drain, work.function(), deadline.last_beginning());
        Self {
            drain,
            work,
            deadline,
            watch,
            relieved: false,
            whole: false,
            queue: Queue::default(),
            running: JoinSet::new(),
            beside: JoinSet::new(),
            looked: None,
            looks_wanted: 0,
            fruitless: 0,
            first_shard: 0,
            events: Vec::new(),
            told: None,
            report: Report::default(),
        }
    }

    pub(super) async fn run(mut self, call: Call) -> Report {
        let now = self.now();
        if self.deadline.allows_work(now) {
            let relieves = call.relieves(now, self.deadline.last_beginning());
            let stance = Stance::of(&call, self.watch.raise(now, relieves).await);
            if let Call::Wake(items) = call {
                self.take_in(items);
            }
            match stance {
                Stance::Everything => self.everything().await,
                Stance::Overdue => self.overdue().await,
                Stance::Own => self.work_off().await,
            }
        }
        self.finish().await
    }

    fn now(&self) -> Timestamp {
        self.drain.clock.now()
    }

    /// What somebody was woken for, as far as it is for this worker and worth waiting for.
    fn take_in(&mut self, items: Vec<Wake>) {
        let now = self.now();
        for wake in items.into_iter().filter(|wake| wake.due_at <= now + self.drain.limits.linger) {
            if let Some(rank) = self.work.lanes().iter().position(|lane| *lane == wake.lane) {
                self.queue.offer(Found::woken(rank, wake), now);
            }
        }
    }

    /// Works until nothing is due soon. The beacon is lowered first, then comes one more look: whoever committed something
    /// before that saw the beacon and left it to us.
    async fn everything(&mut self) {
        self.whole = true;
        loop {
            self.work_off().await;
            self.lower().await;
            if self.relieved || !self.deadline.allows_work(self.now()) {
                return;
            }
            let seen = self.look().await;
            if seen.found == 0 && self.soon(self.now()).is_none() {
                return;
            }
            let now = self.now();
            self.watch.raise(now, None).await;
            if !self.watch.is_up() {
                // Whoever was faster looks after that, and sees everything; what is due here is worked on all the same.
                self.whole = false;
                self.queue.forget_later();
                return self.work_off().await;
            }
        }
    }

    /// Works off what is long overdue, although somebody is awake who should have.
    async fn overdue(&mut self) {
        loop {
            let until =
                Timestamp::default() + self.now().since(Timestamp::default() + self.drain.limits.overdue);
            let seen = self.look_until(until).await;
            self.work_off().await;
            if seen.found == 0 || !self.queue.is_hungry(&self.drain.limits) {
                return;
            }
        }
    }

    /// Starts everything that has a permit and goes on as permits come free, until nothing runs, nothing waits and nothing is
    /// due soon.
    async fn work_off(&mut self) {
        loop {
            let now = self.now();
            if self.relieved || !self.deadline.allows_work(now) {
                return;
            }
            self.tend(now);
            self.tell(now);
            self.queue.ripen(now);
            self.begin(now);
            let look_at = self.whole.then(|| self.next_look());
            if look_at.is_some_and(|at| at <= now) {
                self.look().await;
                continue;
            }
            let until = [look_at, self.soon(now)].into_iter().flatten().min();
            let idle = self.running.is_empty() && self.queue.is_empty();
            // Another look may be to come although nothing is known to be due.
            if idle && self.soon(now).is_none() && (self.looks_wanted == 0 || !self.whole) {
                return;
            }
            let wait = until.map_or(MOMENT, |at| at.since(now).min(MOMENT));
            self.pause(wait.min(self.deadline.remaining(now))).await;
        }
    }

    /// When something is due for which it is worth waiting.
    fn soon(&self, now: Timestamp) -> Option<Timestamp> {
        self.queue.nearest().filter(|at| *at <= now + self.drain.limits.linger)
    }

    /// When the index is to be looked through again.
    fn next_look(&self) -> Timestamp {
        let Some(looked) = self.looked else { return Timestamp::default() };
        if self.queue.is_hungry(&self.drain.limits) {
            return looked;
        }
        let moment = looked + MOMENT;
        if self.looks_wanted > 0 {
            return moment;
        }
        let regular = looked + self.drain.limits.between_passes();
        self.queue.forgotten().map_or(regular, |at| at.min(regular)).max(moment)
    }

    async fn look(&mut self) -> Seen {
        self.look_until(self.now() + self.drain.limits.ahead()).await
    }

    async fn look_until(&mut self, until: Timestamp) -> Seen {
        let lanes = self.work.lanes();
        let seen = self.drain.pass(lanes, &mut self.queue, until, self.first_shard).await;
        // Counted from its end: one that takes long must not be followed by the next at once.
        self.looked = Some(self.now());
        self.first_shard = (self.first_shard + 1) % SHARDS;
        self.report.scans_failed += seen.failed;
        self.looks_wanted = self.looks_wanted.saturating_sub(1);
        self.fruitless = if seen.failed > 0 && seen.found == 0 { self.fruitless + 1 } else { 0 };
        // A look that saw nothing because the table failed is no reason to end.
        if (1..FRUITLESS).contains(&self.fruitless) {
            self.looks_wanted = self.looks_wanted.max(1);
        }
        seen
    }

    /// Starts what has a permit.
    fn begin(&mut self, now: Timestamp) {
        while self.deadline.allows_work(now)
            && let Some(found) = self.queue.take(&self.drain.limits)
        {
            let (work, deadline) = (Arc::clone(&self.work), self.deadline);
            self.running.spawn(async move {
                let ran = work.run(found.lane, found.key(), deadline).await;
                (found, ran)
            });
        }
    }

    /// Renews the beacon, or looks whether word was left, when it is time.
    fn tend(&mut self, now: Timestamp) {
        if let Some(ask) = self.watch.due(now) {
            let asked = self.watch.ask(now, ask);
            self.beside.spawn(async move { Beside::Watch(asked.await) });
        }
    }

    /// Wakes the notifier for what was committed here: at once, and while more comes once in a moment for all of it.
    fn tell(&mut self, now: Timestamp) {
        if self.events.is_empty() || self.told.is_some_and(|told| now < told + MOMENT) {
            return;
        }
        self.told = Some(now);
        let (wakeups, events) = (self.drain.wakeups.clone(), std::mem::take(&mut self.events));
        self.beside.spawn(async move {
            wakeups.wake(events).await;
            Beside::Told
        });
    }

    /// Lowers the beacon, after the request about it that is on its way: one that came later would raise it again.
    async fn lower(&mut self) {
        while self.watch.is_asking()
            && let Some(joined) = self.beside.join_next().await
        {
            self.aside(joined);
        }
        self.watch.lower().await;
    }

    /// Waits until something finishes, at most `wait`.
    async fn pause(&mut self, wait: Duration) {
        tokio::select! {
            biased;
            Some(joined) = self.running.join_next() => {
                self.note(joined);
                while let Some(joined) = self.running.try_join_next() {
                    self.note(joined);
                }
            }
            Some(joined) = self.beside.join_next() => self.aside(joined),
            () = self.drain.clock.sleep(wait) => {}
        }
    }

    fn note(&mut self, joined: Result<(Found, Ran), JoinError>) {
        let (found, ran) = match joined {
            Ok(done) => done,
            // Its permit stays taken for this invocation: whose it was is lost with the panic.
            Err(error) => {
                tracing::error!(%error, "an item's work panicked; its lease will end");
                self.report.failed += 1;
                return;
            }
        };
        let now = self.now();
        self.queue.done(&found, now);
        match ran {
            Ran::Settled { next, event } => {
                self.report.worked += 1;
                self.queue.forget(found.key());
                let lanes = self.work.lanes();
                if let Some(due) = next.filter(|_| self.whole)
                    && let Some(rank) = lanes.iter().position(|lane| *lane == due.lane)
                {
                    self.queue.offer(found.next(rank, due), now);
                }
                if let Some(event) = event.filter(|_| self.events.len() < EVENTS) {
                    self.events.push(Wake::of_event(event.task, event.version, now));
                }
            }
            Ran::Worked => self.report.worked += 1,
            Ran::Refused => self.report.refused += 1,
            Ran::Failed => self.report.failed += 1,
        }
    }

    fn aside(&mut self, joined: Result<Beside, JoinError>) {
        let Ok(Beside::Watch(answered)) = joined else { return };
        match self.watch.answered(answered) {
            News::None => {}
            News::Knocked => self.looks_wanted = LOOKS_PER_KNOCK,
            News::Relieved => self.relieved = true,
        }
    }

    /// Waits for what runs, and for who is woken for it.
    async fn finish(mut self) -> Report {
        self.lower().await;
        while !self.running.is_empty() {
            self.pause(MOMENT).await;
            self.tell(self.now());
        }
        if !self.events.is_empty() {
            self.drain.wakeups.wake(std::mem::take(&mut self.events)).await;
        }
        while self.beside.join_next().await.is_some() {}
        self.report
    }
}
