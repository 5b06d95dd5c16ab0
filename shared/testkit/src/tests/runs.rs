//! Notifications that are delivered by a run of the thread's agent: the fake that runs them, and the notifier with it.

use std::sync::Arc;
use std::time::Duration;

use pudu_app::dead_letters::{DeadLetters, ReplayError};
use pudu_app::deadline::Deadline;
use pudu_app::framing;
use pudu_app::limits::Limits;
use pudu_app::ports::{
    Background, Clock, Committed, ItemKey, Launch, LaunchError, NoteKey, NoteStore, RunLauncher, RunStatus,
    TaskStore, ThreadStore, ToldEvent, Wake,
};
use pudu_app::wakeups::Wakeups;
use pudu_app::worker::{Notifier, Ran, Work};
use pudu_domain::note::State;
use pudu_domain::task::{Command, Context, Delivery, Intent, decide, intend};
use pudu_domain::{Lane, Note, Payload, Policy, RunId, Snapshot, Status, TaskKey, ThreadKey, thread};

use crate::clock::{EPOCH, VirtualClock};
use crate::fixture::{lease, remote, said, task_key, thread, wanted};
use crate::gate::{CrashAt, Fate, Gate, Gated, Open, Script};
use crate::mutant::Mutant;
use crate::random::SeededRandom;
use crate::runs::FakeRuns;
use crate::table::FakeTable;
use crate::trace::Trace;
use crate::waker::FakeWaker;

fn key() -> TaskKey {
    task_key(&thread("t1"), EPOCH, 1)
}

fn launch(thread: &ThreadKey, key: &str) -> Launch {
    let event = ToldEvent { task: self::key().id, version: 1, attempt: 0 };
    Launch { thread: thread.clone(), key: key.to_owned(), text: "x".to_owned(), event }
}

#[tokio::test]
async fn vector_91_the_same_key_is_the_same_run() {
    let (runs, thread) = (FakeRuns::default(), thread("t1"));
    let first = runs.launch(launch(&thread, "k:1")).await.unwrap();
    assert_eq!(
        runs.launch(launch(&thread, "k:1")).await,
        Ok(first.clone()),
        "although the thread is busy with it"
    );
    assert_eq!(runs.launch(launch(&thread, "k:2")).await, Err(LaunchError::Busy));
    runs.end(&first, &RunStatus::Failed("no".into()));
    assert_eq!(runs.launch(launch(&thread, "k:1")).await, Ok(first.clone()), "also when it has ended");
    let second = runs.launch(launch(&thread, "k:2")).await.unwrap();
    assert_ne!(first, second);
    assert_eq!(runs.runs().len(), 2);
    let elsewhere = runs.launch(launch(&crate::fixture::thread("t2"), "k:1")).await;
    assert!(matches!(elsewhere, Err(LaunchError::Failed(_))), "{elsewhere:?}");
}

#[tokio::test]
async fn the_fake_tells_what_became_of_a_run() {
    let (runs, thread) = (FakeRuns::default(), thread("t1"));
    let run = runs.launch(launch(&thread, "k")).await.unwrap();
    assert_eq!(runs.status(&thread, &run).await, Ok(Some(RunStatus::Running)));
    runs.end(&run, &RunStatus::Succeeded);
    assert_eq!(runs.status(&thread, &run).await, Ok(Some(RunStatus::Succeeded)));
    assert_eq!(runs.status(&crate::fixture::thread("t2"), &run).await, Ok(None), "no run of that thread");
    assert_eq!(runs.status(&thread, &RunId::parse("run-9").unwrap()).await, Ok(None));
    runs.hide(true);
    assert!(runs.status(&thread, &run).await.is_err());
    runs.hide(false);
    runs.forget(&run);
    assert_eq!(runs.status(&thread, &run).await, Ok(None));
    runs.delete(&thread);
    let gone = runs.launch(launch(&thread, "k")).await;
    assert!(matches!(gone, Err(LaunchError::MissingThread(_))), "{gone:?}");
}

/// A task that was submitted by an agent, and what tells of it.
struct Stage {
    table: FakeTable,
    clock: VirtualClock,
    runs: FakeRuns,
    mutant: Option<Mutant>,
}

impl Stage {
    /// A task that asks a question: version 1.
    async fn asking(delivery: Delivery) -> Self {
        let clock = VirtualClock::start();
        let table = FakeTable::new();
        let stage = Self { table, clock, runs: FakeRuns::default(), mutant: None };
        let birth = intend(Intent { delivery, ..wanted(&key()) }, lease("s", clock.now()), clock.now());
        assert_eq!(stage.store().commit(&birth).await.unwrap(), Committed::Done);
        let (remote, snapshot) = (remote("r"), said(Status::InputRequired));
        stage.write(Command::RecordSubmit { remote, snapshot, started_at: clock.now() }).await;
        stage
    }

    fn store(&self) -> Arc<dyn TaskStore> {
        Arc::new(self.table.store(Arc::new(self.clock), Gate::open()))
    }

    /// The holder's commit on the task as it stands.
    async fn write(&self, command: Command) {
        let stored = self.table.task(&key()).unwrap();
        let (payload, policy) = (Payload::default(), Policy::default());
        let context = Context { spec: &stored.spec, payload: &payload, policy: &policy };
        let change = decide(&stored.task, command, self.clock.now(), context).unwrap().unwrap();
        assert_eq!(self.store().commit(&change).await.unwrap(), Committed::Done);
    }

    /// A poll that brings this.
    async fn poll(&self, snapshot: Snapshot) {
        self.wait(60).await;
        let claim = self.store().claim(&key(), Lane::Poll, lease("p", self.clock.now())).await.unwrap();
        assert!(claim.is_some());
        self.write(Command::RecordStatus(snapshot)).await;
    }

    async fn wait(&self, secs: u64) {
        self.clock.sleep(Duration::from_secs(secs)).await;
    }

    fn notifier(&self, script: impl Script + 'static) -> (Notifier, Gate) {
        let gate = Gate::new("n", Arc::new(self.clock), Trace::hashed(), script);
        let store = Arc::new(self.table.store(Arc::new(self.clock), gate.clone()));
        let launcher: Arc<dyn RunLauncher> = Arc::new(self.runs.clone());
        let notes: Arc<dyn NoteStore> = store.clone();
        let notifier = Notifier {
            worker: "n".to_owned(),
            notes: self.mutant.map_or_else(|| Arc::clone(&notes), |mutant| mutant.notes(Arc::clone(&notes))),
            tasks: store.clone(),
            threads: store,
            launcher: Some(Arc::new(Gated::new(launcher, gate.clone()))),
            clock: Arc::new(self.clock),
            random: Arc::new(SeededRandom::new(gate.calls() + 1)),
            policy: Policy::default(),
            limits: Limits::default(),
        };
        (notifier, gate)
    }

    async fn run(&self, notifier: &Notifier, version: u32) -> Ran {
        let item = ItemKey::Note(NoteKey { task: key(), version });
        notifier.run(Lane::Notify, &item, Deadline::at(self.clock.now() + Duration::from_mins(3))).await
    }

    /// One claim of a version, by a notifier to whom nothing happens.
    async fn tick(&self, version: u32) -> Note {
        let (notifier, _) = self.notifier(Open);
        self.run(&notifier, version).await;
        self.note(version)
    }

    fn note(&self, version: u32) -> Note {
        self.table.notes().into_iter().find(|note| note.version == version).unwrap()
    }

    /// The versions that show in the thread.
    fn shown(&self) -> Vec<u32> {
        let all = self.table.delivered();
        all.get(&key().thread).into_iter().flatten().map(|told| told.version).collect()
    }
}

fn run(name: &str) -> RunId {
    RunId::parse(name).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_event_is_told_by_a_run_and_shows_when_the_run_has_ended_well() {
    let stage = Stage::asking(Delivery::Run).await;
    assert_eq!(stage.tick(1).await.state, State::Dispatched { run: run("run-1") });
    assert_eq!(stage.shown(), [] as [u32; 0]);
    let started = stage.runs.runs().remove(0).launch;
    assert_eq!(started.key, format!("mcp-task:{}:1:0", key().id));
    assert_eq!(started.event, ToldEvent { task: key().id, version: 1, attempt: 0 });
    assert!(
        started.text.contains(framing::BEGIN) && started.text.contains("which year?"),
        "{}",
        started.text
    );

    stage.wait(5).await;
    assert_eq!(stage.tick(1).await.state, State::Dispatched { run: run("run-1") }, "it goes on");
    stage.runs.end(&run("run-1"), &RunStatus::Succeeded);
    stage.wait(5).await;
    assert!(matches!(stage.tick(1).await.state, State::Delivered { .. }));
    assert_eq!((stage.shown(), stage.runs.runs().len()), (vec![1], 1));
}

#[tokio::test(start_paused = true)]
async fn an_event_of_an_api_caller_never_starts_a_run() {
    let stage = Stage::asking(Delivery::Event).await;
    assert!(matches!(stage.tick(1).await.state, State::Delivered { .. }));
    assert_eq!((stage.shown(), stage.runs.runs().len()), (vec![1], 0));
}

#[tokio::test(start_paused = true)]
async fn vector_83_a_failed_run_is_followed_by_another_one_with_its_own_key() {
    let stage = Stage::asking(Delivery::Run).await;
    stage.tick(1).await;
    stage.runs.end(&run("run-1"), &RunStatus::Failed("the model said no".into()));
    stage.wait(5).await;
    let failed = stage.tick(1).await;
    assert_eq!((failed.state, failed.attempts, failed.dispatch), (State::Pending, 1, 1));
    stage.wait(5).await;
    assert_eq!(stage.tick(1).await.state, State::Dispatched { run: run("run-2") });
    stage.runs.forget(&run("run-2"));
    stage.wait(5).await;
    let vanished = stage.tick(1).await;
    assert_eq!((vanished.attempts, vanished.dispatch), (2, 2));
    assert!(vanished.last_error.unwrap().as_str().contains("run-2"));
    let keys: Vec<String> = stage.runs.runs().into_iter().map(|run| run.launch.key).collect();
    assert_eq!(keys, [format!("mcp-task:{}:1:0", key().id), format!("mcp-task:{}:1:1", key().id)]);
}

#[tokio::test(start_paused = true)]
async fn vector_85_a_busy_thread_is_no_failure_and_a_missing_one_is_the_end() {
    let stage = Stage::asking(Delivery::Run).await;
    stage.runs.occupy(&key().thread, true);
    for _ in 0..20 {
        let note = stage.tick(1).await;
        assert_eq!((note.state, note.attempts), (State::Pending, 0));
        stage.wait(5).await;
    }
    stage.runs.occupy(&key().thread, false);
    stage.runs.refuse(Some("no capacity"));
    let mut failures = 0;
    while stage.tick(1).await.state != State::Dead {
        failures += 1;
        stage.wait(300).await;
    }
    assert_eq!((failures, stage.note(1).attempts), (4, 5));
    assert_eq!(stage.note(1).last_error.unwrap().as_str(), "no capacity");

    let stage = Stage::asking(Delivery::Run).await;
    stage.runs.delete(&key().thread);
    let note = stage.tick(1).await;
    assert_eq!((note.state, note.attempts), (State::Dead, 1));
}

#[tokio::test(start_paused = true)]
async fn vector_82_an_event_that_is_being_told_is_told_to_its_end_and_then_the_next() {
    let stage = Stage::asking(Delivery::Run).await;
    stage.tick(1).await;
    stage.poll(said(Status::Completed)).await;
    let second = stage.tick(2).await;
    assert_eq!((second.state, second.attempts), (State::Pending, 0), "the thread is busy with the first");
    stage.runs.end(&run("run-1"), &RunStatus::Succeeded);
    stage.wait(5).await;
    assert_eq!(stage.tick(2).await.state, State::Dispatched { run: run("run-2") });
    stage.runs.end(&run("run-2"), &RunStatus::Succeeded);
    stage.wait(5).await;
    // Noticed in the other order: both were told.
    assert!(matches!(stage.tick(2).await.state, State::Delivered { .. }));
    assert!(matches!(stage.tick(1).await.state, State::Delivered { .. }));
    assert_eq!(stage.shown(), [2, 1]);
    let texts: Vec<bool> =
        stage.runs.runs().iter().map(|run| run.launch.text.contains("which year?")).collect();
    assert_eq!(texts, [true, false], "each tells what was true when it was made");
}

#[tokio::test(start_paused = true)]
async fn vector_88_what_is_no_longer_true_starts_no_run() {
    let stage = Stage::asking(Delivery::Run).await;
    stage.poll(said(Status::Working)).await;
    assert_eq!(stage.tick(1).await.state, State::Withdrawn);
    assert_eq!(stage.runs.runs(), []);
}

/// The thread's row, and with it whether anything may begin in it.
async fn change_thread(stage: &Stage, command: thread::Command) {
    let store = stage.table.store(Arc::new(stage.clock), Gate::open());
    let mut thread = ThreadStore::load(&store, &key().thread).await.unwrap().unwrap();
    if command == thread::Command::Finish {
        thread =
            ThreadStore::claim(&store, &key().thread, lease("d", stage.clock.now())).await.unwrap().unwrap();
    }
    let change = thread::decide(&thread, command, stage.clock.now(), &Policy::default()).unwrap().unwrap();
    assert_eq!(ThreadStore::commit(&store, &change).await.unwrap(), Committed::Done);
}

#[tokio::test(start_paused = true)]
async fn no_run_is_started_in_a_thread_that_is_going_or_gone() {
    let stage = Stage::asking(Delivery::Run).await;
    change_thread(&stage, thread::Command::RequestDelete).await;
    assert_eq!(stage.tick(1).await.state, State::Withdrawn);
    let stage = Stage::asking(Delivery::Run).await;
    change_thread(&stage, thread::Command::RequestDelete).await;
    change_thread(&stage, thread::Command::Finish).await;
    let note = stage.tick(1).await;
    assert_eq!((note.state, note.attempts), (State::Dead, 1));
    assert_eq!(stage.runs.runs(), []);
}

/// The notifier hears of it at once; a waker that is down costs it only that.
#[tokio::test(start_paused = true)]
async fn a_dead_letter_that_is_replayed_wakes_the_notifier() {
    let stage = Stage::asking(Delivery::Run).await;
    stage.runs.delete(&key().thread);
    assert_eq!(stage.tick(1).await.state, State::Dead);
    let (store, waker) =
        (Arc::new(stage.table.store(Arc::new(stage.clock), Gate::open())), FakeWaker::default());
    let clock: Arc<dyn Clock> = Arc::new(stage.clock);
    let wakeups = Wakeups {
        beacons: store.clone(),
        waker: Some(Arc::new(waker.clone())),
        clock: Arc::clone(&clock),
        limits: Limits::default(),
    };
    let letters = DeadLetters { due: store.clone(), notes: store, clock, policy: Policy::default(), wakeups };
    let at = NoteKey { task: key(), version: 1 };
    assert_eq!(letters.list(10).await.unwrap(), [stage.note(1)]);
    let replayed = letters.replay(&at).await.unwrap();
    assert_eq!((&replayed, replayed.attempts), (&stage.note(1), 0));
    let woken = vec![(Background::Notifier, vec![Wake::of_event(key(), 1, stage.clock.now())])];
    assert_eq!(waker.take(), woken);
    assert!(matches!(letters.replay(&at).await, Err(ReplayError::NotDead(_))));
    assert_eq!((waker.take(), letters.list(10).await.unwrap()), (vec![], vec![]));
    assert_eq!(stage.tick(1).await.state, State::Dead);
    waker.down(true);
    assert_eq!(letters.replay(&at).await.unwrap().state, State::Pending);
}

#[tokio::test(start_paused = true)]
async fn where_no_agent_can_be_run_an_event_that_needs_one_is_a_dead_letter_in_the_end() {
    let stage = Stage::asking(Delivery::Run).await;
    let notifier = Notifier { launcher: None, ..stage.notifier(Open).0 };
    for _ in 0..5 {
        stage.run(&notifier, 1).await;
        stage.wait(300).await;
    }
    let note = stage.note(1);
    assert_eq!((note.state, note.last_error.unwrap().as_str()), (State::Dead, "no agent can be run here"));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_be_looked_up_is_not_started_again() {
    let stage = Stage::asking(Delivery::Run).await;
    stage.tick(1).await;
    stage.runs.hide(true);
    stage.wait(5).await;
    let note = stage.tick(1).await;
    assert_eq!((note.state, note.attempts), (State::Dispatched { run: run("run-1") }, 1));
    stage.runs.hide(false);
    stage.runs.end(&run("run-1"), &RunStatus::Succeeded);
    stage.wait(5).await;
    assert!(matches!(stage.tick(1).await.state, State::Delivered { .. }));
    assert_eq!(stage.runs.runs().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_launch_that_does_not_answer_is_counted_and_its_late_run_is_found_by_its_key() {
    let stage = Stage::asking(Delivery::Run).await;
    let (notifier, _) = stage.notifier(|call: crate::gate::Call<'_>| {
        if call.op == "runs.launch" { Fate::Late(Duration::from_secs(90)) } else { Fate::Pass }
    });
    stage.run(&notifier, 1).await;
    let note = stage.note(1);
    assert_eq!((note.state, note.attempts, note.dispatch), (State::Pending, 1, 0));
    assert!(note.last_error.unwrap().as_str().contains("did not answer within"));
    stage.wait(5).await;
    assert_eq!(stage.tick(1).await.state, State::Dispatched { run: run("run-1") });
    assert_eq!(stage.runs.runs().len(), 1);
}

/// Everything that a notifier does, from the first claim to the end of a run that ends well, with one mishap on the way.
async fn told_through(script: impl Script + 'static, mutant: Option<Mutant>) -> (u64, Stage) {
    let mut stage = Stage::asking(Delivery::Run).await;
    stage.mutant = mutant;
    let (notifier, gate) = stage.notifier(script);
    for _ in 0..12 {
        tokio::select! {
            biased;
            () = gate.crashed() => {}
            _ = stage.run(&notifier, 1) => {}
        }
        let healthy = stage.notifier(Open).0;
        if gate.has_crashed() {
            stage.run(&healthy, 1).await;
        }
        stage.wait(130).await;
        for run in stage.runs.runs() {
            stage.runs.end(&run.id, &RunStatus::Succeeded);
        }
    }
    (gate.calls(), stage)
}

fn is_told_once(stage: &Stage) -> bool {
    let delivered = matches!(stage.note(1).state, State::Delivered { .. });
    delivered && stage.shown() == [1] && stage.runs.runs().len() == 1
}

/// The n-th call meets a fate.
struct Nth(u64, Fate);

impl Script for Nth {
    fn fate(&mut self, call: crate::gate::Call<'_>) -> Fate {
        if call.number == self.0 { self.1 } else { Fate::Pass }
    }
}

#[tokio::test(start_paused = true)]
async fn a_mishap_at_any_call_starts_no_second_run_and_loses_no_event() {
    let (calls, stage) = told_through(Open, None).await;
    assert!(is_told_once(&stage) && calls >= 7, "{calls}");
    for number in 0..calls {
        for after in [false, true] {
            let (_, stage) = told_through(CrashAt { number, after }, None).await;
            assert!(is_told_once(&stage), "a crash at call {number}, after it: {after}: {:?}", stage.note(1));
        }
        for fate in [Fate::FailBefore, Fate::LoseAnswer] {
            let (_, stage) = told_through(Nth(number, fate), None).await;
            assert!(is_told_once(&stage), "{fate:?} at call {number}: {:?}", stage.note(1));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_notifier_that_launches_anew_after_every_failure_is_caught() {
    let (calls, _) = told_through(Open, None).await;
    let mut caught = 0;
    for number in 0..calls {
        let (_, stage) = told_through(Nth(number, Fate::LoseAnswer), Some(Mutant::LaunchAnew)).await;
        caught += usize::from(!is_told_once(&stage));
    }
    assert!(caught > 0, "nobody saw the second run");
}
