//! Following a run of the fake table: what is handed out, in which order, and what a mishap costs.

use std::sync::Arc;
use std::time::Duration;

use pudu_app::limits::Limits;
use pudu_app::ports::{Applied, Clock, RunStore};
use pudu_app::runs::checkpoints::Checkpoints;
use pudu_app::runs::follow::{Follower, FrameId, Over};
use pudu_app::runs::modes::Modes;
use pudu_app::runs::{Action, AdmitError, CancelError, Found, NewThread, Runs, ThreadError, Wanted};
use pudu_app::wakeups::Wakeups;
use pudu_domain::chat::{Message, Speaker};
use pudu_domain::run::{Body, Command, Ending, Notice, Operation, Outcome, Seen, Step, Strategy, decide};
use pudu_domain::state::{State, Write};
use pudu_domain::{IdempotencyKey, Policy, Run, Scope, ThreadKey};
use serde_json::{Map, Value, json};

use crate::clock::VirtualClock;
use crate::fixture::{lease, thread};
use crate::gate::{Call, Fate, Gate};
use crate::keys::FixedKeys;
use crate::random::SeededRandom;
use crate::table::FakeTable;
use crate::trace::Trace;

struct Stage {
    clock: VirtualClock,
    table: FakeTable,
    runs: Runs,
}

impl Stage {
    fn new() -> Self {
        let (clock, table) = (VirtualClock::start(), FakeTable::new());
        let runs = runs(clock, &table, &Gate::open());
        Self { clock, table, runs }
    }

    /// The same rows, whose calls fail as `fate` says.
    fn through(&self, fate: impl FnMut(Call<'_>) -> Fate + Send + 'static) -> Runs {
        runs(self.clock, &self.table, &Gate::new("follower", Arc::new(self.clock), Trace::off(), fate))
    }

    async fn commit(&self, run: &Run, command: Command) -> Run {
        let conversation = self.runs.store.conversation(&run.key.thread).await.unwrap();
        let seen = Seen { conversation: conversation.as_ref(), ..Seen::default() };
        let change = decide(run, command, &seen, self.clock.now(), &Policy::default()).unwrap();
        assert_eq!(self.runs.store.commit(&change).await.unwrap(), Applied::Done);
        change.run.run
    }

    /// A run that said `texts`, one a step, and has ended.
    async fn ended(&self, texts: &[&str]) -> Run {
        self.ended_naming(texts, |number| number.checked_sub(1)).await
    }

    /// The same whose states were told with the ones before them that `behind` names.
    async fn ended_naming(&self, texts: &[&str], behind: fn(u32) -> Option<u32>) -> Run {
        let admitted = self.runs.admit(wanted(&thread("t"), None, "hi")).await.unwrap();
        let until = self.clock.now() + Duration::from_secs(60);
        let held = pudu_domain::Lease { until, ..lease("w", self.clock.now()) };
        let mut run = self.runs.store.claim(&admitted.run.key, held).await.unwrap().unwrap();
        let mut state = State::default();
        for (number, text) in (0..).zip(texts) {
            let message = Message::new(Speaker::Ai, format!("m{number}"), *text);
            state.apply(Write::message(message)).unwrap();
            let values = Notice::Values { number, behind: behind(number) };
            let notices = vec![Notice::Frame { event: "custom".into(), data: json!(text) }, values];
            let body = Some(Body::Snapshot(Box::new(state.clone())));
            let step = Step { body, notices, ..Step::default() };
            run = self.commit(&run, Command::Advance { step, lease: until }).await;
        }
        let ending = Ending::new(Outcome::Success, None);
        self.commit(&run, Command::Finish { step: Step::default(), ending }).await
    }
}

fn runs(clock: VirtualClock, table: &FakeTable, gate: &Gate) -> Runs {
    let ticks: Arc<dyn Clock> = Arc::new(clock);
    let rows = Arc::new(table.store(Arc::clone(&ticks), gate.clone()));
    let store: Arc<dyn RunStore> = rows.clone();
    Runs {
        checkpoints: Checkpoints { store: Arc::clone(&store), blobs: None },
        store,
        keys: Arc::new(FixedKeys),
        random: Arc::new(SeededRandom::new(3)),
        wakeups: Wakeups { beacons: rows, waker: None, clock: Arc::clone(&ticks), limits: Limits::default() },
        clock: ticks,
        policy: Policy::default(),
    }
}

fn wanted(thread: &ThreadKey, key: Option<&str>, text: &str) -> Wanted {
    Wanted {
        operation: Operation::Run,
        thread: thread.clone(),
        must_exist: false,
        assistant: "lead_agent".into(),
        input: vec![Message::new(Speaker::Human, "", text)],
        options: Map::new(),
        metadata: Map::new(),
        kwargs: Map::new(),
        strategy: Strategy::Reject,
        scope: Scope::All,
        base: None,
        secrets: std::collections::BTreeMap::new(),
        key: key.map(|key| IdempotencyKey::parse(key).unwrap()),
    }
}

fn everything() -> Modes {
    Modes::read(&json!(["values", "custom"])).unwrap()
}

/// Everything that is told until it is over, and how many looks failed.
async fn told(follower: &mut Follower) -> (Vec<(String, Value)>, usize) {
    let (mut frames, mut failed) = (Vec::new(), 0);
    for _ in 0..100 {
        match follower.look().await {
            Ok(look) => {
                frames.extend(look.frame.map(|frame| (frame.event, frame.data)));
                if look.over == Some(Over::Ended) {
                    return (frames, failed);
                }
            }
            Err(_) => failed += 1,
        }
    }
    panic!("it does not end: {frames:?}");
}

#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_read_now_is_told_later_and_nothing_is_lost() {
    let stage = Stage::new();
    let run = stage.ended(&["a", "b", "c"]).await;
    let (all, _) = told(&mut Follower::new(stage.runs.clone(), &run, everything(), None)).await;
    let events: Vec<&str> = all.iter().map(|(event, _)| event.as_str()).collect();
    assert_eq!(events, ["custom", "values", "custom", "values", "custom", "values", "end"]);
    let mut reads = 0;
    let runs = stage.through(move |call| {
        reads += usize::from(call.op == "runs.checkpoints");
        // The table tries a few times by itself.
        if call.op == "runs.checkpoints" && (2..20).contains(&reads) { Fate::FailBefore } else { Fate::Pass }
    });
    let (again, failed) = told(&mut Follower::new(runs, &run, everything(), None)).await;
    assert!(failed > 0, "nothing failed");
    assert_eq!(again, all);
}

#[tokio::test(start_paused = true)]
async fn one_state_is_read_for_each_look() {
    let stage = Stage::new();
    let run = stage.ended(&["a", "b", "c"]).await;
    let reads = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let runs = stage.through(move |call| {
        counted.fetch_add(usize::from(call.op == "runs.checkpoints"), std::sync::atomic::Ordering::SeqCst);
        Fate::Pass
    });
    let mut follower = Follower::new(runs, &run, Modes::default(), None);
    for read in 1..=3 {
        assert_eq!(follower.look().await.unwrap().frame.unwrap().event, "values");
        assert_eq!(reads.load(std::sync::atomic::Ordering::SeqCst), read);
    }
}

#[tokio::test(start_paused = true)]
async fn however_much_is_told_of_a_step_one_state_is_read_for_it() {
    let stage = Stage::new();
    let run = stage.ended(&["a", "b", "c"]).await;
    let reads = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let runs = stage.through(move |call| {
        counted.fetch_add(usize::from(call.op == "runs.checkpoints"), std::sync::atomic::Ordering::SeqCst);
        Fate::Pass
    });
    let modes = ["values", "updates", "tasks", "checkpoints", "debug"];
    let mut follower = Follower::new(runs, &run, Modes::named(modes).unwrap(), None);
    let (frames, _) = told(&mut follower).await;
    assert!(frames.len() > 15, "{frames:?}");
    assert_eq!(reads.load(std::sync::atomic::Ordering::SeqCst), 3, "the one before is kept");
}

#[tokio::test(start_paused = true)]
async fn steps_of_a_run_that_did_not_name_the_state_before_are_told_as_those_of_one_that_did() {
    let (named, not) = (Stage::new(), Stage::new());
    let runs = (named.ended(&["a", "b", "c"]).await, not.ended_naming(&["a", "b", "c"], |_| None).await);
    let modes = || Modes::named(["updates", "tasks"]).unwrap();
    for resumed in [None, Some(4)] {
        let resumed = resumed.map(|seq| FrameId { at: runs.0.created_at, seq });
        let (all, _) = told(&mut Follower::new(named.runs.clone(), &runs.0, modes(), resumed)).await;
        let (old, _) = told(&mut Follower::new(not.runs.clone(), &runs.1, modes(), resumed)).await;
        assert!(all.iter().any(|(event, _)| event == "updates"));
        assert_eq!(old, all);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_without_a_readable_spec_can_be_ended_and_replaced() {
    let stage = Stage::new();
    let unreadable = |call: Call<'_>| if call.op == "runs.spec" { Fate::FailBefore } else { Fate::Pass };
    let run = stage.runs.admit(wanted(&thread("t"), None, "hi")).await.unwrap().run;
    let ended: Result<_, CancelError> = stage.through(unreadable).cancel(&run.key, Action::default()).await;
    assert_eq!(ended.unwrap().unwrap().phase.status(), "interrupted");
    stage.runs.admit(wanted(&thread("u"), None, "hi")).await.unwrap();
    let interrupting = Wanted { strategy: Strategy::Interrupt, ..wanted(&thread("u"), None, "again") };
    stage.through(unreadable).admit(interrupting).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_delivery_is_the_same_run_whatever_it_says() {
    let stage = Stage::new();
    let delivery = |text: &str| wanted(&thread("t"), Some("mcp-task:x:1:0"), text);
    let first = stage.runs.admit(delivery("one wording")).await.unwrap();
    let second = stage.runs.admit(delivery("another")).await.unwrap();
    assert!(second.reused && second.run.key == first.run.key);
    let theirs = |text: &str| wanted(&thread("u"), Some("theirs"), text);
    stage.runs.admit(theirs("one wording")).await.unwrap();
    let other = stage.runs.admit(theirs("another")).await;
    assert!(matches!(other, Err(AdmitError::KeyReused)), "{other:?}");
}

#[tokio::test(start_paused = true)]
async fn notes_of_a_thread_are_bounded_together() {
    let stage = Stage::new();
    let note = |name: &str| Map::from_iter([(name.to_owned(), Value::from("x".repeat(40 * 1024)))]);
    let new = NewThread { thread: thread("t"), metadata: note("a"), assistant: None, scope: Scope::All };
    stage.runs.open(new).await.unwrap();
    let more = stage.runs.annotate(&thread("t"), note("b")).await;
    assert!(matches!(more, Err(ThreadError::TooLarge)), "{more:?}");
    stage.runs.annotate(&thread("t"), note("a")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn threads_of_one_moment_are_all_found() {
    let stage = Stage::new();
    for number in 0..230 {
        let new = NewThread {
            thread: thread(&format!("t{number}")),
            metadata: Map::new(),
            assistant: None,
            scope: Scope::All,
        };
        stage.runs.open(new).await.unwrap();
    }
    let wanted = Found { limit: 1000, ..Found::default() };
    let found = stage.runs.find(&thread("t").user, &wanted).await.unwrap();
    assert_eq!(found.len(), 230);
}
