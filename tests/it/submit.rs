//! Submissions that go wrong, at the ports: what is undone, what is told, and what the caller hears (reference 6.4,
//! vectors 62 to 64). Chance finds the combinations in the simulation; here each case has a name.

mod hung_up;
mod repeated;
mod tasks;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use acceptance::ports::wired;
use pudu_app::ports::{Caller, Clock};
use pudu_app::tools::{InvokeError, Invoked, Terms};
use pudu_app::wiring::Wiring;
use pudu_config::Document;
use pudu_domain::task::State;
use pudu_domain::{IdempotencyKey, Lane, Status, TaskKey};
use pudu_testkit::gate::{Call, Open};
use pudu_testkit::server::{Plan, Request};
use pudu_testkit::table::StoredTask;
use pudu_testkit::{FakeServer, FakeTable, Fate, Gate, Trace, VirtualClock, fixture};
use serde_json::{Value, json};

/// One gateway whose calls go wrong as its script says.
struct Desk {
    clock: VirtualClock,
    table: FakeTable,
    server: FakeServer,
    wiring: Wiring,
}

impl Desk {
    async fn new(plan: Plan, script: impl FnMut(Call<'_>) -> Fate + Send + 'static) -> Self {
        let clock = VirtualClock::start();
        let table = FakeTable::new();
        let server = FakeServer::new(Arc::new(clock), move |_| plan.clone());
        let seeding =
            wired(clock, &table, &server, &Gate::new("seed", Arc::new(clock), Trace::hashed(), Open));
        let document = Document::parse(fixture::config()).unwrap();
        assert!(seeding.configs.seed(document).await.unwrap());
        let beacons = table.store(Arc::new(clock), Gate::open());
        fixture::a_poller_was_here(&beacons, clock.now()).await.unwrap();
        let gate = Gate::new("gateway", Arc::new(clock), Trace::hashed(), script);
        let wiring = wired(clock, &table, &server, &gate);
        Self { clock, table, server, wiring }
    }

    async fn submit(&self) -> Result<Invoked, InvokeError> {
        self.submit_on(Terms::default(), json!({"title": "x"})).await
    }

    async fn submit_on(&self, terms: Terms, arguments: Value) -> Result<Invoked, InvokeError> {
        let name = format!("{}_{}", fixture::SERVER, fixture::SUBMIT_TOOL);
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        self.wiring
            .tools()
            .invoke(&fixture::principal(), Caller::of(fixture::thread("t")), &name, arguments, terms)
            .await
    }

    fn row(&self) -> StoredTask {
        let rows = self.table.tasks();
        assert_eq!(rows.len(), 1);
        rows[0].clone()
    }

    fn cancels(&self) -> usize {
        self.server.log().iter().filter(|asked| asked.what == Request::Cancel).count()
    }

    /// The poller's tick that comes when the submitter's time is over.
    async fn recover(&self) {
        self.clock.sleep(Duration::from_secs(3600)).await;
        let clock: Arc<dyn Clock> = Arc::new(self.clock);
        let open =
            wired(self.clock, &self.table, &self.server, &Gate::new("p", clock, Trace::hashed(), Open));
        let deadline = pudu_app::deadline::Deadline::at(self.clock.now() + Duration::from_secs(60));
        open.drain().run(Arc::new(open.poller()), deadline).await;
    }
}

fn with_key(key: &str) -> Terms {
    Terms { key: Some(IdempotencyKey::parse(key).unwrap()), ..Terms::default() }
}

fn long() -> Plan {
    Plan::completes_after(Duration::from_secs(86_400))
}

/// The n-th commit (from 0: the intent, then the handle) meets `fate`; every attempt of it, if `always`.
fn at_commit(number: usize, fate: Fate, always: bool) -> impl FnMut(Call<'_>) -> Fate + Send + 'static {
    let mut seen = 0;
    move |call| {
        if call.op != "tasks.commit" {
            return Fate::Pass;
        }
        let mine = if always { seen >= number } else { seen == number };
        seen += 1;
        if mine { fate } else { Fate::Pass }
    }
}

fn at_submit(fate: Fate) -> impl FnMut(Call<'_>) -> Fate + Send + 'static {
    move |call| if call.op == "driver.submit" { fate } else { Fate::Pass }
}

#[tokio::test(start_paused = true)]
async fn a_submission_is_tracked_and_first_polled_after_the_pause() {
    let desk = Desk::new(long(), |_: Call<'_>| Fate::Pass).await;
    let started = desk.clock.now();
    let Invoked::Submitted(submitted) = desk.submit().await.unwrap() else { panic!("it is a submit tool") };
    let row = desk.row();
    assert_eq!((submitted.task_id.as_str(), submitted.status), (row.task.key.id.as_str(), "submitted"));
    assert_eq!(
        row.task.durable.due.map(|due| (due.lane, due.at)),
        Some((Lane::Poll, started + Duration::from_secs(5)))
    );
    assert_eq!(row.spec.remote.as_ref().map(pudu_domain::RemoteTaskId::as_str), Some("remote-0"));
}

/// The write stands although its answer was lost for good: nothing was sent, so nothing may be said to be unknown later.
#[tokio::test(start_paused = true)]
async fn an_intent_whose_write_failed_although_it_stands_is_taken_back() {
    for terms in [Terms::default(), with_key("k")] {
        let lost = Arc::new(AtomicBool::new(true));
        let loses = Arc::clone(&lost);
        let script = move |call: Call<'_>| {
            let loses = call.op == "tasks.commit" && loses.load(Ordering::SeqCst);
            if loses { Fate::LoseAnswer } else { Fate::Pass }
        };
        let desk = Desk::new(long(), script).await;
        assert!(matches!(
            desk.submit_on(terms.clone(), json!({"title": "x"})).await,
            Err(InvokeError::Store(_))
        ));
        assert!(desk.server.tasks().is_empty() && desk.table.tasks().is_empty(), "{:#?}", desk.table.tasks());
        lost.store(false, Ordering::SeqCst);
        desk.recover().await;
        assert!(desk.table.notes().is_empty(), "the thread is told of nothing");
        assert!(
            desk.submit_on(terms, json!({"title": "x"})).await.is_ok(),
            "and may ask again, with the same key"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_when_the_intent_cannot_be_written() {
    let desk = Desk::new(long(), at_commit(0, Fate::FailBefore, true)).await;
    assert!(matches!(desk.submit().await, Err(InvokeError::Store(_))));
    assert!(desk.server.tasks().is_empty() && desk.table.tasks().is_empty());
}

/// Vector 63, first: the handle cannot be written, and the table says so.
#[tokio::test(start_paused = true)]
async fn a_task_whose_handle_cannot_be_written_is_cancelled_at_its_server() {
    let desk = Desk::new(long(), at_commit(1, Fate::FailBefore, true)).await;
    assert!(matches!(desk.submit().await, Err(InvokeError::Store(_))));
    assert_eq!(desk.server.status_of("remote-0"), Some(Status::Cancelled));
    desk.recover().await;
    assert_eq!(desk.row().task.status(), Status::Failed);
}

/// Vector 63, second: the cancel fails too, so the thread must be told.
#[tokio::test(start_paused = true)]
async fn a_task_that_can_be_neither_tracked_nor_cancelled_is_reported() {
    let mut commits = at_commit(1, Fate::FailBefore, true);
    let script =
        move |call: Call<'_>| if call.op == "driver.cancel" { Fate::FailBefore } else { commits(call) };
    let desk = Desk::new(long(), script).await;
    assert!(matches!(desk.submit().await, Err(InvokeError::Uncertain { .. })));
    assert_eq!(desk.server.status_of("remote-0"), Some(Status::Working));
    desk.recover().await;
    let row = desk.row();
    assert_eq!((row.task.status(), row.task.attention.version), (Status::Failed, 1));
    assert!(row.payload.error.unwrap().contains("submission outcome unknown"));
}

/// Vector 63, third: somebody else's handle is never cancelled.
#[tokio::test(start_paused = true)]
async fn a_handle_that_is_already_tracked_is_a_conflict_and_not_cancelled() {
    let plan = Plan { handle: Some("the-same".into()), ..long() };
    let desk = Desk::new(plan, |_: Call<'_>| Fate::Pass).await;
    desk.submit().await.unwrap();
    assert!(matches!(desk.submit().await, Err(InvokeError::Duplicate { .. })));
    assert_eq!(desk.cancels(), 0);
    let ended: Vec<_> =
        desk.table.tasks().into_iter().filter(|row| row.task.status() == Status::Failed).collect();
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].task.attention.version, 0, "the caller has the conflict in hand");
}

/// Vector 63, fourth.
#[tokio::test(start_paused = true)]
async fn a_handle_too_long_to_track_is_cancelled_at_its_server() {
    let plan = Plan { handle: Some("r".repeat(256)), ..long() };
    let desk = Desk::new(plan, |_: Call<'_>| Fate::Pass).await;
    let error = desk.submit().await.unwrap_err();
    assert!(matches!(&error, InvokeError::NotTaken { message, .. } if message.contains("255")), "{error}");
    assert_eq!(desk.cancels(), 1);
    assert_eq!(desk.row().task.status(), Status::Failed);
}

#[tokio::test(start_paused = true)]
async fn a_submit_without_an_answer_is_reported_because_it_may_run() {
    let desk = Desk::new(long(), at_submit(Fate::LoseAnswer)).await;
    assert!(matches!(desk.submit().await, Err(InvokeError::Uncertain { .. })));
    let row = desk.row();
    assert_eq!((row.task.status(), row.task.attention.version), (Status::Failed, 1));
}

#[tokio::test(start_paused = true)]
async fn a_submit_that_never_left_is_a_refusal_without_an_event() {
    let desk = Desk::new(long(), at_submit(Fate::FailBefore)).await;
    assert!(matches!(desk.submit().await, Err(InvokeError::NotTaken { .. })));
    let row = desk.row();
    assert_eq!((row.task.status(), row.task.attention.version), (Status::Failed, 0));
}

#[tokio::test(start_paused = true)]
async fn a_commit_whose_answer_was_lost_compensates_nothing() {
    for always in [false, true] {
        let desk = Desk::new(long(), at_commit(1, Fate::LoseAnswer, always)).await;
        assert!(matches!(desk.submit().await, Ok(Invoked::Submitted(_))), "every attempt: {always}");
        assert_eq!(desk.cancels(), 0);
        assert!(matches!(desk.row().task.state, State::Active { .. }));
    }
}

/// A cancel that comes while the handle is unknown is not lost: the handle's commit lands in the cancel lane.
#[tokio::test(start_paused = true)]
async fn a_cancel_during_the_submit_is_carried_out_after_it() {
    let desk = Desk::new(long(), at_submit(Fate::Late(Duration::from_secs(3)))).await;
    let (submitted, cancelled) = tokio::join!(desk.submit(), async {
        desk.clock.sleep(Duration::from_secs(1)).await;
        let key: TaskKey = desk.row().task.key;
        desk.wiring.tasks().cancel(&key).await
    });
    submitted.unwrap();
    assert!(cancelled.unwrap().unwrap().listed.task.cancel.is_some());
    assert_eq!(desk.row().task.durable.due.map(|due| due.lane), Some(Lane::Cancel));
    desk.recover().await;
    assert_eq!((desk.row().task.status(), desk.cancels()), (Status::Cancelled, 1));
}

/// A submitter that dies in the middle: recovery ends the task as its request to cancel says.
#[tokio::test(start_paused = true)]
async fn a_cancelled_intent_whose_submitter_died_ends_as_cancelled_and_is_reported() {
    let desk = Desk::new(long(), at_submit(Fate::Late(Duration::from_secs(3)))).await;
    tokio::select! {
        biased;
        _ = desk.submit() => panic!("it must not get that far"),
        () = desk.clock.sleep(Duration::from_secs(1)) => {}
    }
    let key = desk.row().task.key;
    desk.wiring.tasks().cancel(&key).await.unwrap();
    desk.recover().await;
    let row = desk.row();
    assert_eq!((row.task.status(), row.task.attention.version), (Status::Cancelled, 1));
}
