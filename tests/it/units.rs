//! What each step of a task's life costs, as the engine bills it, and how many requests it makes.
//!
//! On the embedded engine only: what the second one says of capacity is not what DynamoDB bills.

mod follow;
mod runs;

use std::sync::Arc;
use std::time::Duration;

use acceptance::{Cost, HandClock, MeteredTable};
use pudu_app::limits::Limits;
use pudu_app::ports::{Clock, Committed, EventLog, NoteKey, NoteStore, TaskStore};
use pudu_app::settle::{Settle, Settled};
use pudu_app::wakeups::Wakeups;
use pudu_domain::note;
use pudu_domain::task::{Command, Context, Given, Heard, Intent, Sent, decide, intend, question_digest};
use pudu_domain::{
    Lane, Lease, Owner, Policy, RemoteTaskId, ServerName, Snapshot, Status, Task, TaskKey, TaskName, TaskSpec,
};
use pudu_dynamo::Table;
use pudu_testkit::fixture;

const UPDATE: &str = "UpdateItem";
const PUT: &str = "PutItem";
const GET: &str = "GetItem";
const QUERY: &str = "Query";
const BATCH: &str = "BatchGetItem";
const TRANSACTION: &str = "TransactWriteItems";

/// A task's life on a table whose meter runs.
struct Life {
    metered: MeteredTable,
    clock: Arc<HandClock>,
    intent: Intent,
}

impl Life {
    async fn of(intent: Intent) -> Self {
        let clock = Arc::new(HandClock::default());
        Self { metered: MeteredTable::new(clock.clone()).await, clock, intent }
    }

    /// Names as they usually are.
    async fn ordinary() -> Self {
        let key = fixture::task_key(&fixture::thread("t1"), HandClock::default().now(), 1);
        Self::of(fixture::wanted(&key)).await
    }

    /// The longest names that anybody may give.
    async fn longest() -> Self {
        let user = format!("oidc:{}", "u".repeat(121));
        let key =
            fixture::task_key(&fixture::thread_of(&user, &"t".repeat(64)), HandClock::default().now(), 1);
        let wanted = fixture::wanted(&key);
        let name = TaskName::parse("ü".repeat(255)).unwrap();
        let server = ServerName::parse("ü".repeat(128)).unwrap();
        let identity = format!("http http://{}", "h".repeat(2000));
        Self::of(Intent { name, server, identity, ..wanted }).await
    }

    fn key(&self) -> &TaskKey {
        &self.intent.key
    }

    fn lease(&self) -> Lease {
        Lease {
            owner: Owner::new(&"w".repeat(64), u64::MAX),
            until: self.clock.now() + Duration::from_mins(2),
        }
    }

    fn settle(&self, table: &Arc<Table>) -> Settle {
        let wakeups = Wakeups {
            beacons: table.clone(),
            waker: None,
            clock: self.clock.clone(),
            limits: Limits::default(),
        };
        Settle { tasks: table.clone(), clock: self.clock.clone(), policy: Policy::default(), wakeups }
    }

    /// The cost of what was done since the last look, which must have been exactly these requests.
    #[track_caller]
    fn billed(&self, requests: &[&str]) -> Cost {
        assert_eq!(self.metered.calls.take(), requests);
        self.metered.costs.take()
    }

    async fn submitted(&self) -> Task {
        let table = &self.metered.table;
        let birth = intend(self.intent.clone(), self.lease(), self.clock.now());
        assert_eq!(TaskStore::commit(&**table, &birth).await.unwrap(), Committed::Done);
        let remote = RemoteTaskId::parse("r".repeat(255)).unwrap();
        let snapshot = Snapshot::bare(Status::Submitted);
        let command = Command::RecordSubmit { remote, snapshot, started_at: self.clock.now() };
        self.settled(table, birth.task, &birth.spec.unwrap(), command).await
    }

    async fn settled(&self, table: &Arc<Table>, task: Task, spec: &TaskSpec, command: Command) -> Task {
        match self.settle(table).held(task, spec, command).await.unwrap() {
            Settled::Done { task, .. } => *task,
            other => panic!("{other:?}"),
        }
    }

    async fn claimed(&self, table: &Table, lane: Lane) -> Task {
        self.clock.advance(Duration::from_mins(6));
        TaskStore::claim(table, self.key(), lane, self.lease()).await.unwrap().expect("the claim is won")
    }

    /// A poll from claim to commit, as the poller makes it.
    async fn poll(&self, table: &Arc<Table>, command: Command) -> Task {
        let task = self.claimed(table, Lane::Poll).await;
        let spec = table.spec(&task).await.unwrap().unwrap();
        self.settled(table, task, &spec, command).await
    }
}

fn working() -> Command {
    Command::RecordStatus(Snapshot::bare(Status::Working))
}

/// The numbers of DESIGN section 9: 4 write units, half a read unit when cold, none when warm.
async fn unchanged_polls_cost_what_they_may(life: &Life) {
    life.submitted().await;
    let table = &life.metered.table;
    life.poll(table, working()).await;
    life.billed(&[TRANSACTION, TRANSACTION, UPDATE, PUT]);

    life.poll(table, working()).await;
    assert_eq!(life.billed(&[UPDATE, PUT]), Cost { write: 4.0, read: 0.0 }, "a warm poll");

    let cold = life.metered.cold();
    life.poll(&cold, working()).await;
    let cost = life.billed(&[UPDATE, GET, PUT]);
    assert!(cost.write <= 4.0, "{cost:?}");
    // The spec is not under the hot row's limit: a long identity may take a second half unit, once per process.
    let spec = if life.intent.identity.len() < 1000 { 0.5 } else { 1.0 };
    assert!(cost.read <= spec, "{cost:?}");
    life.poll(&cold, working()).await;
    assert_eq!(life.billed(&[UPDATE, PUT]), Cost { write: 4.0, read: 0.0 }, "the spec is read once");
}

#[tokio::test]
async fn an_unchanged_poll_costs_four_write_units_and_half_a_read_unit() {
    unchanged_polls_cost_what_they_may(&Life::ordinary().await).await;
}

#[tokio::test]
async fn an_unchanged_poll_costs_the_same_with_the_longest_names() {
    unchanged_polls_cost_what_they_may(&Life::longest().await).await;
}

#[tokio::test]
async fn a_failed_poll_costs_no_more_than_an_unchanged_one() {
    let life = Life::longest().await;
    life.submitted().await;
    let table = &life.metered.table;
    let failure = || Command::RecordPollFailure("ü".repeat(4000));
    life.poll(table, failure()).await;
    life.billed(&[TRANSACTION, TRANSACTION, UPDATE, PUT]);
    life.poll(table, failure()).await;
    let cost = life.billed(&[UPDATE, PUT]);
    assert!(cost.write <= 4.0 && cost.read <= 0.0, "{cost:?}");
}

#[tokio::test]
async fn claim_and_commit_are_one_request_each() {
    let life = Life::ordinary().await;
    life.submitted().await;
    life.billed(&[TRANSACTION, TRANSACTION]);
    let table = &life.metered.table;
    let task = life.claimed(table, Lane::Poll).await;
    assert_eq!(life.billed(&[UPDATE]), Cost { write: 1.0, read: 0.0 }, "a claim does not touch the index");
    let spec = table.spec(&task).await.unwrap().unwrap();
    life.billed(&[]);
    life.settled(table, task, &spec, working()).await;
    assert_eq!(life.billed(&[PUT]), Cost { write: 3.0, read: 0.0 }, "the row, and the index twice");
    // Somebody else's claim before its time is one request as well, and brings nothing.
    let lost = TaskStore::claim(&**table, life.key(), Lane::Poll, life.lease()).await;
    assert_eq!(lost.unwrap(), None);
    life.billed(&[UPDATE]);
}

#[tokio::test]
async fn the_steps_of_a_life_cost_what_the_benchmark_page_says() {
    let life = Life::ordinary().await;
    let table = life.metered.table.clone();

    let birth = intend(life.intent.clone(), life.lease(), life.clock.now());
    TaskStore::commit(&*table, &birth).await.unwrap();
    // Row and its index entry, spec, thread; a transaction bills each twice.
    assert_eq!(life.billed(&[TRANSACTION]), Cost { write: 7.0, read: 0.0 }, "intent");

    let command = Command::RecordSubmit {
        remote: fixture::remote("r-1"),
        snapshot: Snapshot::bare(Status::Submitted),
        started_at: life.clock.now(),
    };
    life.settled(&table, birth.task, &birth.spec.unwrap(), command).await;
    assert_eq!(life.billed(&[TRANSACTION]), Cost { write: 8.0, read: 0.0 }, "handle");

    let done = life.poll(&table, Command::RecordStatus(fixture::said(Status::Completed))).await;
    assert_eq!(
        life.billed(&[UPDATE, TRANSACTION]),
        Cost { write: 15.0, read: 0.0 },
        "the poll that sees the end: spec and handle get their time to go"
    );

    let note = NoteKey { task: life.key().clone(), version: done.attention.version };
    let claimed = NoteStore::claim(&*table, &note, Lane::Notify, life.lease()).await.unwrap().unwrap();
    assert_eq!(life.billed(&[UPDATE]), Cost { write: 1.0, read: 0.0 }, "the note's claim");
    // It tells an end, which is true for ever: nobody looks at the task.
    let command = note::Command::Deliver { attention: note.version };
    let change = note::decide(&claimed, command, life.clock.now(), &Policy::default()).unwrap();
    assert_eq!(NoteStore::commit(&*table, &change).await.unwrap(), Committed::Done);
    assert_eq!(life.billed(&[TRANSACTION]), Cost { write: 7.0, read: 0.0 }, "delivery");

    assert_eq!(table.events(&life.key().thread, 50).await.unwrap().len(), 1);
    assert_eq!(life.billed(&[QUERY, BATCH]), Cost { write: 0.0, read: 2.0 }, "marker and event");
    assert_eq!(table.list(&life.key().thread, 50, None).await.unwrap().len(), 1);
    life.billed(&[QUERY]);
}

/// What each step costs of a task that ends with a result of so many bytes: the poll that sees it, the note's claim, a
/// delivery that fails, another claim, the delivery.
async fn telling(bytes: usize) -> [f64; 5] {
    let life = Life::ordinary().await;
    let table = life.metered.table.clone();
    life.submitted().await;
    life.billed(&[TRANSACTION, TRANSACTION]);
    let result = Some(serde_json::Value::from("x".repeat(bytes)));
    let ended = Snapshot { result, ..Snapshot::bare(Status::Completed) };
    life.poll(&table, Command::RecordStatus(ended)).await;
    let mut costs = vec![life.billed(&[UPDATE, TRANSACTION]).write];
    let note = NoteKey { task: life.key().clone(), version: 1 };
    for command in [note::Command::RecordFailure("no".into()), note::Command::Deliver { attention: 1 }] {
        life.clock.advance(Duration::from_mins(6));
        let claimed = NoteStore::claim(&*table, &note, Lane::Notify, life.lease()).await.unwrap().unwrap();
        costs.push(life.billed(&[UPDATE]).write);
        let change = note::decide(&claimed, command, life.clock.now(), &Policy::default()).unwrap();
        assert_eq!(NoteStore::commit(&*table, &change).await.unwrap(), Committed::Done);
        costs.push(life.metered.costs.take().write);
        life.metered.calls.take();
    }
    costs.try_into().unwrap()
}

/// An event is written once, with the task's commit: whatever happens to its notification costs the same for a large one as
/// for a small one. (In that commit it stands twice, as the task's payload and as the event, and a transaction bills each
/// unit twice.)
#[tokio::test]
async fn a_large_event_is_paid_for_once() {
    let (small, large) = (telling(10).await, telling(64_000).await);
    let units = 64_000_f64 / 1024.0;
    let more = (large[0] - small[0]) / 4.0;
    assert!(
        (units - 1.0..units + 1.0).contains(&more),
        "{more} units for each of payload and event, {large:?}"
    );
    assert_eq!(large[1..], small[1..]);
    assert!(large[1..].iter().sum::<f64>() < 16.0, "{large:?}");
}

#[tokio::test]
async fn a_cancel_costs_a_read_and_a_write_and_its_repeat_only_the_read() {
    let life = Life::ordinary().await;
    life.submitted().await;
    life.billed(&[TRANSACTION, TRANSACTION]);
    let settle = life.settle(&life.metered.table);
    let asked = settle.beside(life.key(), Command::RequestCancel).await.unwrap();
    assert!(matches!(asked, Some(Settled::Done { .. })), "{asked:?}");
    // The last is the knock at whoever is awake; nobody is, and a failed condition is billed without being reported.
    let cost = life.billed(&[GET, PUT, UPDATE]);
    assert!(cost.write <= 3.0, "{cost:?}");
    let again = settle.beside(life.key(), Command::RequestCancel).await.unwrap();
    assert_eq!(again, Some(Settled::Unchanged));
    assert_eq!(life.billed(&[GET]), Cost { write: 0.0, read: 1.0 }, "a repeat writes nothing");
}

/// Given: a read of the row and of the question, the row and the answer. Sent: a claim, the question and the answer read, and
/// one commit for it and the poll after it, in which the answer's row goes.
#[tokio::test]
async fn an_answer_costs_two_transactions_and_a_claim() {
    let life = Life::ordinary().await;
    life.submitted().await;
    let table = &life.metered.table;
    life.poll(table, Command::RecordStatus(fixture::said(Status::InputRequired))).await;
    life.metered.calls.take();
    life.metered.costs.take();

    let task = TaskStore::load(&**table, life.key()).await.unwrap().unwrap();
    let (spec, payload) =
        (table.spec(&task).await.unwrap().unwrap(), table.payload(life.key()).await.unwrap());
    let question = question_digest(payload.input_required.as_ref().unwrap());
    let given = Command::GiveAnswer(Given { question, version: None, input: "2026".into() });
    let policy = Policy::default();
    let context = Context { spec: &spec, payload: &payload, policy: &policy };
    let change = decide(&task, given, life.clock.now(), context).unwrap().unwrap();
    assert_eq!(TaskStore::commit(&**table, &change).await.unwrap(), Committed::Done);
    let cost = life.billed(&[GET, GET, TRANSACTION]);
    assert!(cost.write <= 8.0 && cost.read <= 2.0, "{cost:?}");

    let task = life.claimed(table, Lane::Poll).await;
    table.payload(life.key()).await.unwrap();
    table.answer(life.key()).await.unwrap().unwrap();
    let heard = Some(Heard::Status(Snapshot::bare(Status::Working)));
    life.settled(table, task, &spec, Command::RecordAnswer { sent: Sent::Taken, heard }).await;
    let cost = life.billed(&[UPDATE, GET, GET, TRANSACTION]);
    assert!(cost.write <= 11.0 && cost.read <= 2.0, "{cost:?}");

    life.poll(table, working()).await;
    assert_eq!(life.billed(&[UPDATE, PUT]), Cost { write: 4.0, read: 0.0 }, "and a poll is a poll again");
}
