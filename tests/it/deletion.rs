//! Deletions of threads that go wrong, at the ports: at every call, every mishap; then fresh processes, and nothing may be left
//! in the table and nothing untracked at the server.

mod rough;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use acceptance::ports::wired_by;
use pudu_app::deadline::Deadline;
use pudu_app::ports::{Applied, Caller, Clock};
use pudu_app::runs::Wanted;
use pudu_app::tools::{InvokeError, Invoked, Terms};
use pudu_app::wiring::Wiring;
use pudu_app::worker::Work;
use pudu_config::Document;
use pudu_domain::run::{Body, Command, Notice, Operation, Seen, Step, Strategy, decide};
use pudu_domain::{IdempotencyKey, Policy, Scope, Status};
use pudu_testkit::gate::{Call, Open, Script};
use pudu_testkit::server::{Plan, Question};
use pudu_testkit::{FakeServer, FakeTable, Fate, Gate, Trace, VirtualClock, fixture};
use serde_json::Map;

const MISHAPS: [Fate; 4] = [Fate::CrashBefore, Fate::CrashAfter, Fate::FailBefore, Fate::LoseAnswer];

/// A table and a server, with a process for each act.
struct Yard {
    clock: VirtualClock,
    table: FakeTable,
    server: FakeServer,
    processes: AtomicU64,
}

/// What befalls the n-th call of all processes together; looks into the index are no calls that count.
#[derive(Clone, Default)]
struct Mishap(Arc<Mutex<Calls>>);

#[derive(Default)]
struct Calls {
    made: usize,
    planned: Option<(usize, Fate)>,
}

impl Mishap {
    fn at(number: usize, fate: Fate) -> Self {
        Self(Arc::new(Mutex::new(Calls { made: 0, planned: Some((number, fate)) })))
    }

    fn calls(&self) -> usize {
        self.0.lock().unwrap().made
    }
}

impl Script for Mishap {
    fn fate(&mut self, call: Call<'_>) -> Fate {
        if call.op == "due.due" {
            return Fate::Pass;
        }
        let mut calls = self.0.lock().unwrap();
        let mine = calls.planned.filter(|(number, _)| *number == calls.made);
        calls.made += 1;
        mine.map_or(Fate::Pass, |(_, fate)| fate)
    }
}

impl Yard {
    /// Three tasks of the thread: one that runs, one that has ended, one that asks; their events wait.
    async fn new() -> Self {
        let clock = VirtualClock::start();
        let question = Question {
            from: Duration::from_secs(1),
            until: Duration::from_secs(86_400),
            text: "which year?".into(),
        };
        let long = Plan::completes_after(Duration::from_secs(86_400));
        let plans = [
            long.clone(),
            Plan::completes_after(Duration::from_secs(1)),
            Plan { questions: vec![question], ..long.clone() },
        ];
        let server =
            FakeServer::new(Arc::new(clock), move |number| plans.get(number).unwrap_or(&long).clone());
        let yard = Self { clock, table: FakeTable::new(), server, processes: AtomicU64::new(1) };
        let document = Document::parse(fixture::config()).unwrap();
        assert!(yard.process(Open).0.configs.seed(document).await.unwrap());
        yard
    }

    async fn busy() -> Self {
        let yard = Self::new().await;
        for key in [None, Some("k"), None] {
            yard.submit(key).await.unwrap();
        }
        yard.clock.sleep(Duration::from_secs(6)).await;
        let (wiring, _) = yard.process(Open);
        yard.tick(&wiring, Arc::new(wiring.poller())).await;
        assert_eq!(yard.table.notes().len(), 2);
        yard.converse().await;
        yard
    }

    /// Two runs of the thread: one that somebody works on, and that has told something; one that waits for it.
    async fn converse(&self) {
        let (wiring, _) = self.process(Open);
        let runs = wiring.runs();
        for (strategy, key) in [(Strategy::Reject, Some("a")), (Strategy::Enqueue, None)] {
            runs.admit(Wanted {
                operation: Operation::Run,
                thread: fixture::thread("t"),
                must_exist: false,
                assistant: "lead_agent".to_owned(),
                input: Vec::new(),
                options: Map::new(),
                metadata: Map::new(),
                kwargs: Map::new(),
                strategy,
                scope: Scope::All,
                base: None,
                secrets: BTreeMap::new(),
                key: key.map(|key| IdempotencyKey::parse(key).unwrap()),
            })
            .await
            .unwrap();
        }
        // Made in one moment, so their ids are in no order: the first is the one that somebody is to work on.
        let first = self.table.runs().into_iter().find(|run| run.durable.due.is_some()).unwrap();
        let held = runs.store.claim(&first.key, fixture::lease("agent", self.clock.now())).await.unwrap();
        let step = Step {
            body: Some(Body::Snapshot(Box::default())),
            notices: vec![Notice::Values { number: 0, behind: None }],
            ..Step::default()
        };
        let command = Command::Advance { step, lease: self.clock.now() + fixture::LEASE };
        let policy = Policy::default();
        let change = decide(&held.unwrap(), command, &Seen::default(), self.clock.now(), &policy).unwrap();
        assert_eq!(runs.store.commit(&change).await.unwrap(), Applied::Done);
    }

    fn process(&self, script: impl Script + 'static) -> (Wiring, Gate) {
        let seed = self.processes.fetch_add(1, Ordering::Relaxed);
        let gate = Gate::new("process", Arc::new(self.clock), Trace::hashed(), script);
        (wired_by(seed, self.clock, &self.table, &self.server, &gate), gate)
    }

    async fn submit(&self, key: Option<&str>) -> Result<Invoked, InvokeError> {
        self.submit_through(key, Open).await
    }

    async fn submit_through(
        &self,
        key: Option<&str>,
        script: impl Script + 'static,
    ) -> Result<Invoked, InvokeError> {
        let name = format!("{}_{}", fixture::SERVER, fixture::SUBMIT_TOOL);
        let terms = Terms { key: key.map(|key| IdempotencyKey::parse(key).unwrap()), ..Terms::default() };
        let (wiring, _) = self.process(script);
        wiring
            .tools()
            .invoke(&fixture::principal(), Caller::of(fixture::thread("t")), &name, Map::new(), terms)
            .await
    }

    async fn tick(&self, wiring: &Wiring, work: Arc<dyn Work>) {
        let deadline = Deadline::at(self.clock.now() + Duration::from_secs(60));
        wiring.drain().run(work, deadline).await;
    }

    /// A gateway is asked to delete the thread; whether its caller heard that it will be.
    async fn delete(&self, script: impl Script + 'static) -> bool {
        let (wiring, gate) = self.process(script);
        tokio::select! {
            biased;
            () = gate.crashed() => false,
            deleted = async { wiring.threads().delete(&fixture::thread("t")).await } => {
                deleted.is_ok_and(|thread| thread.is_some_and(|thread| thread.is_going()))
            }
        }
    }

    /// A tick of each worker.
    async fn work(&self, script: impl Script + Clone + 'static) {
        for poller in [true, false] {
            self.work_as(poller, script.clone()).await;
        }
    }

    /// A tick of a poller, or of a notifier.
    async fn work_as(&self, poller: bool, script: impl Script + 'static) {
        let (wiring, gate) = self.process(script);
        let work: Arc<dyn Work> =
            if poller { Arc::new(wiring.poller()) } else { Arc::new(wiring.notifier()) };
        tokio::select! {
            biased;
            () = gate.crashed() => {}
            () = Box::pin(self.tick(&wiring, work)) => {}
        }
    }

    /// Everything about the thread, as the fake table has it.
    fn left(&self) -> Vec<String> {
        let mut left: Vec<String> = self.table.tasks().iter().map(|row| format!("{:?}", row.task)).collect();
        left.extend(self.table.notes().iter().map(|note| format!("{note:?}")));
        left.extend(self.table.delivered().iter().map(|events| format!("{events:?}")));
        left.extend(self.table.handles().iter().map(|handle| format!("{handle:?}")));
        left.extend(self.table.repeatable().iter().map(|key| format!("{key:?}")));
        left.extend(self.table.runs().iter().map(|run| format!("{run:?}")));
        left.extend(self.table.conversations().iter().map(|talk| format!("{talk:?}")));
        left.extend(self.table.threads().iter().map(|thread| format!("{thread:?}")));
        left
    }

    fn running(&self) -> usize {
        let handles = self.server.tasks().into_iter().map(|task| task.handle);
        handles.filter(|handle| self.server.status_of(handle).is_some_and(|now| !now.is_terminal())).count()
    }

    /// Undisturbed workers, for an hour.
    async fn settle(&self) {
        for _ in 0..60 {
            if self.left().is_empty() {
                return;
            }
            self.work(|_: Call<'_>| Fate::Pass).await;
            self.clock.sleep(Duration::from_secs(60)).await;
        }
    }
}

/// The whole deletion with one mishap; how many calls it made before it was left to undisturbed workers.
async fn deleted_with(mishap: Mishap) -> (Yard, usize) {
    let yard = Yard::busy().await;
    let heard = yard.delete(mishap.clone()).await;
    for _ in 0..4 {
        yard.work(mishap.clone()).await;
        yard.clock.sleep(Duration::from_secs(10)).await;
    }
    let calls = mishap.calls();
    if !heard {
        // Whoever was not told asks again, unless it is done already.
        yard.delete(Open).await;
    }
    yard.settle().await;
    (yard, calls)
}

#[tokio::test(start_paused = true)]
async fn no_mishap_at_any_call_of_a_deletion_leaves_anything_behind() {
    let (clean, calls) = deleted_with(Mishap::default()).await;
    assert!(clean.left().is_empty(), "{:#?}", clean.left());
    assert!(calls > 30, "{calls}");
    println!("deletion: {calls} calls, {} runs", calls * MISHAPS.len());
    for number in 0..calls {
        for fate in MISHAPS {
            let (yard, _) = deleted_with(Mishap::at(number, fate)).await;
            assert!(yard.left().is_empty(), "call {number}, {fate:?}: {:#?}", yard.left());
            assert_eq!(yard.running(), 0, "call {number}, {fate:?}");
        }
    }
}

/// The thread goes while the server is at work on a submission: its handle is waited for, and then cancelled.
#[tokio::test(start_paused = true)]
async fn a_submission_under_way_is_waited_for_and_its_task_cancelled() {
    for fate in [Fate::Late(Duration::from_secs(20)), Fate::Delay(Duration::from_secs(20))] {
        let yard = Yard::new().await;
        let name = format!("{}_{}", fixture::SERVER, fixture::SUBMIT_TOOL);
        let slow = move |call: Call<'_>| if call.op == "driver.submit" { fate } else { Fate::Pass };
        let (wiring, _) = yard.process(slow);
        let tools = wiring.tools();
        let (who, caller) = (fixture::principal(), Caller::of(fixture::thread("t")));
        let call = tools.invoke(&who, caller, &name, Map::new(), Terms::default());
        let (submitted, ()) = tokio::join!(call, async {
            yard.clock.sleep(Duration::from_secs(1)).await;
            assert!(yard.delete(Open).await);
            for _ in 0..3 {
                yard.work(|_: Call<'_>| Fate::Pass).await;
            }
            assert!(!yard.left().is_empty(), "the intent is waited for");
        });
        submitted.unwrap();
        yard.settle().await;
        assert!(yard.left().is_empty(), "{:#?}", yard.left());
        assert_eq!(yard.server.status_of("remote-0"), Some(Status::Cancelled));
    }
}

#[tokio::test(start_paused = true)]
async fn a_submission_whose_submitter_died_is_waited_for_until_its_time_is_over() {
    let yard = Yard::new().await;
    let name = format!("{}_{}", fixture::SERVER, fixture::SUBMIT_TOOL);
    let dies = |call: Call<'_>| if call.op == "driver.submit" { Fate::CrashBefore } else { Fate::Pass };
    let (wiring, gate) = yard.process(dies);
    let (tools, who, caller) = (wiring.tools(), fixture::principal(), Caller::of(fixture::thread("t")));
    tokio::select! {
        biased;
        () = gate.crashed() => {}
        _ = tools.invoke(&who, caller, &name, Map::new(), Terms::default()) => {}
    }
    assert!(yard.delete(Open).await);
    yard.work(|_: Call<'_>| Fate::Pass).await;
    assert!(!yard.left().is_empty());
    yard.settle().await;
    assert!(yard.left().is_empty(), "{:#?}", yard.left());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_submitted_in_a_thread_that_is_being_deleted_and_its_name_is_free_afterwards() {
    let yard = Yard::busy().await;
    assert!(yard.delete(Open).await);
    assert!(matches!(yard.submit(None).await, Err(InvokeError::ThreadGone)));
    assert!(
        matches!(yard.submit(Some("k")).await, Err(InvokeError::ThreadGone)),
        "nor found again by its key"
    );
    yard.settle().await;
    assert!(matches!(yard.submit(Some("k")).await, Ok(Invoked::Submitted(_))));
    assert_eq!((yard.table.tasks().len(), yard.running()), (1, 1));
}

/// Nobody waits for a run: whoever works on it finds that it has ended, and what waits never begins.
#[tokio::test(start_paused = true)]
async fn runs_of_a_thread_that_is_being_deleted_end_at_once() {
    let yard = Yard::busy().await;
    let runs = yard.table.runs();
    assert!(runs.iter().all(|run| run.end().is_none()) && runs.len() == 2);
    assert!(yard.delete(Open).await);
    yard.work_as(true, Open).await;
    let ended: Vec<&str> = yard.table.runs().iter().map(|run| run.phase.status()).collect();
    assert_eq!(ended, ["interrupted", "interrupted"], "the tasks are still waited for");
    let policy = Policy::default();
    let command = Command::Advance { step: Step::default(), lease: yard.clock.now() + fixture::LEASE };
    let held = runs.iter().find(|run| run.durable.lease.is_some()).unwrap();
    let late = decide(held, command, &Seen::default(), yard.clock.now(), &policy).unwrap();
    let (wiring, _) = yard.process(Open);
    assert_eq!(wiring.runs().store.commit(&late).await.unwrap(), Applied::Lost);
    yard.settle().await;
    assert!(yard.left().is_empty(), "{:#?}", yard.left());
}

/// A task that was put aside can be ended by nobody: it goes with its thread, and the log says so.
#[tokio::test(start_paused = true)]
async fn a_task_that_was_put_aside_keeps_no_thread() {
    let yard = Yard::busy().await;
    let key = yard.table.tasks()[0].task.key.clone();
    yard.table.corrupt_spec(&key);
    yard.clock.sleep(Duration::from_secs(120)).await;
    yard.work(|_: Call<'_>| Fate::Pass).await;
    assert!(yard.delete(Open).await);
    yard.settle().await;
    assert!(yard.left().is_empty(), "{:#?}", yard.left());
}
