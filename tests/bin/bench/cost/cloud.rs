//! The background functions as the cloud runs them: invoked each minute, side by side when an invocation takes longer, each in
//! an environment that stays warm for the next one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use acceptance::MeteredTable;
use pudu::engine::Mode;
use pudu::workers::tick;
use pudu_app::limits::Limits;
use pudu_app::ports::{Clock, Random};
use pudu_app::wiring::Wiring;
use pudu_app::worker::Report;
use pudu_compose::TICK;
use pudu_config::Document;
use pudu_domain::{TaskId, TaskKey};
use pudu_lambda::random::OsRandom;
use pudu_notifier::Notifier;
use pudu_task_poller::TaskPoller;
use pudu_testkit::{VirtualClock, fixture};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{CADENCE, TASKS};
use crate::life::Life;
use crate::still::Still;

/// What the template gives the functions: memory, timeouts and the schedule.
pub(super) const POLLER_GB: f64 = 512.0 / 1024.0;
pub(super) const NOTIFIER_GB: f64 = 256.0 / 1024.0;
const POLLER_TIMEOUT: Duration = Duration::from_secs(180);
const NOTIFIER_TIMEOUT: Duration = Duration::from_secs(60);
const SCHEDULE: Duration = Duration::from_secs(60);
/// Tasks of one thread.
const PER_THREAD: u32 = 10;

/// What a function did since the last time that was forgotten.
#[derive(Debug, Clone, Default)]
pub(super) struct Billed {
    /// Invocations that began.
    pub(super) invocations: u64,
    /// Time of those that are over.
    awake: Duration,
    /// Since when the others run, by their number.
    running: BTreeMap<u64, Instant>,
}

/// What is paid for.
#[derive(Debug, Clone, Default)]
pub(super) struct Usage {
    pub(super) write: f64,
    pub(super) read: f64,
    pub(super) polls: u64,
    pub(super) poller: Billed,
    pub(super) notifier: Billed,
}

impl Usage {
    pub(super) fn invocations(&self) -> u64 {
        self.poller.invocations + self.notifier.invocations
    }
}

/// An invocation that is over: its environment, its number, and what it did.
type Over<T> = (T, u64, Report);

/// The table with its tasks, and the environments.
pub(super) struct Cloud {
    life: Life,
    clock: VirtualClock,
    asked: Arc<AtomicU64>,
    invoked: u64,
    poller: Billed,
    notifier: Billed,
    pollers: Vec<TaskPoller>,
    notifiers: Vec<Notifier>,
    polling: JoinSet<Over<TaskPoller>>,
    notifying: JoinSet<Over<Notifier>>,
}

impl Cloud {
    /// The tasks of the bench, whose first polls are `apart`.
    pub(super) async fn open(apart: Duration) -> anyhow::Result<Self> {
        let clock = VirtualClock::start();
        let metered = MeteredTable::answering(Arc::new(clock), Mode::Inline).await;
        let mut cloud = Self {
            life: Life::new(metered, Arc::new(clock)),
            clock,
            asked: Arc::default(),
            invoked: 0,
            poller: Billed::default(),
            notifier: Billed::default(),
            pollers: Vec::new(),
            notifiers: Vec::new(),
            polling: JoinSet::new(),
            notifying: JoinSet::new(),
        };
        let config = Document::parse(fixture::config()).map_err(|wrong| anyhow::anyhow!("{wrong:?}"))?;
        let wiring = cloud.wiring()?;
        wiring.configs.seed(config).await?;
        cloud.life.identity = wiring.configs.identity(&fixture::server())?;
        let began = clock.now();
        for number in 0..TASKS {
            let thread = fixture::thread(&format!("cost-{}", number / PER_THREAD));
            let mut tail = [0; 10];
            OsRandom.fill(&mut tail);
            let key = TaskKey { thread, id: TaskId::new(began, tail) };
            cloud.life.submit(&key, began, Some(apart * number)).await?;
        }
        Ok(cloud)
    }

    /// Lets the schedule run for `time`.
    pub(super) async fn run(&mut self, time: Duration) -> anyhow::Result<()> {
        let over = Instant::now() + time;
        let mut next = Instant::now();
        while next < over {
            self.invoke()?;
            next += SCHEDULE;
            loop {
                let left = next.saturating_duration_since(Instant::now());
                tokio::select! {
                    Some(ended) = self.polling.join_next() => self.poller_ended(ended?)?,
                    Some(ended) = self.notifying.join_next() => self.notifier_ended(ended?)?,
                    () = self.clock.sleep(left) => break,
                }
            }
        }
        Ok(())
    }

    /// What was used since the last time does not count.
    pub(super) fn forget(&mut self) {
        self.asked.store(0, Ordering::SeqCst);
        self.poller.forget();
        self.notifier.forget();
        self.life.forget();
    }

    /// What was used since then.
    pub(super) fn usage(&self) -> Usage {
        let cost = self.life.metered.costs.take();
        Usage {
            write: cost.write,
            read: cost.read,
            polls: self.asked.load(Ordering::SeqCst),
            poller: self.poller.so_far(),
            notifier: self.notifier.so_far(),
        }
    }

    fn invoke(&mut self) -> anyhow::Result<()> {
        self.invoked += 1;
        let number = self.invoked;
        let event = |function, timeout: Duration| {
            let mut event = tick(function, &self.clock, &OsRandom);
            event.context.deadline = (self.clock.now() + timeout).as_millis();
            event
        };
        let (poll, notify) = (event("task-poller", POLLER_TIMEOUT), event("notifier", NOTIFIER_TIMEOUT));
        let poller = if let Some(warm) = self.pollers.pop() {
            warm
        } else {
            let wiring = self.wiring()?;
            TaskPoller::new(wiring.drain(), wiring.poller())
        };
        let notifier = if let Some(warm) = self.notifiers.pop() {
            warm
        } else {
            let wiring = self.wiring()?;
            Notifier::new(wiring.drain(), wiring.notifier())
        };
        self.poller.begin(number);
        self.polling.spawn(async move {
            let report = poller.handle(poll).await;
            (poller, number, report)
        });
        self.notifier.begin(number);
        self.notifying.spawn(async move {
            let report = notifier.handle(notify).await;
            (notifier, number, report)
        });
        Ok(())
    }

    fn poller_ended(&mut self, (poller, number, report): Over<TaskPoller>) -> anyhow::Result<()> {
        report.clean()?;
        self.poller.end(number);
        self.pollers.push(poller);
        Ok(())
    }

    fn notifier_ended(&mut self, (notifier, number, report): Over<Notifier>) -> anyhow::Result<()> {
        report.clean()?;
        self.notifier.end(number);
        self.notifiers.push(notifier);
        Ok(())
    }

    /// The use cases of an environment that has just started.
    fn wiring(&self) -> anyhow::Result<Wiring> {
        let still = Still { poll_after: CADENCE, asked: Arc::clone(&self.asked) };
        self.life.wiring(still, Limits { linger: TICK, ..Limits::default() })
    }
}

impl Billed {
    /// Time in which invocations worked, or waited for what is due soon.
    pub(super) const fn awake(&self) -> Duration {
        self.awake
    }

    /// With the time of those that still run. To be asked while virtual time is there to be asked.
    fn so_far(&self) -> Self {
        let running = self.running.values().map(Instant::elapsed).sum::<Duration>();
        Self { awake: self.awake + running, running: BTreeMap::new(), ..*self }
    }

    fn begin(&mut self, number: u64) {
        self.invocations += 1;
        self.running.insert(number, Instant::now());
    }

    fn end(&mut self, number: u64) {
        self.awake += self.running.remove(&number).map_or(Duration::ZERO, |began| began.elapsed());
    }

    fn forget(&mut self) {
        (self.invocations, self.awake) = (0, Duration::ZERO);
        self.running.values_mut().for_each(|began| *began = Instant::now());
    }
}
