//! Following a thread and reading it page by page: what is told, when, and how much is read for it (DESIGN section 7).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use acceptance::ports::wired;
use pudu_app::configs::By;
use pudu_app::deadline::Deadline;
use pudu_app::ports::{Caller, Clock, TaskStore, ThreadStore};
use pudu_app::tasks::follow::{FOLLOWED, Follower, Look, OVERLAP, SHOWN_FIRST};
use pudu_app::tasks::{LOOKED_AT, Part};
use pudu_app::tools::Terms;
use pudu_app::wiring::Wiring;
use pudu_domain::thread;
use pudu_domain::{Policy, Status, TaskId, TaskKey, Timestamp};
use pudu_testkit::gate::{Call, Open};
use pudu_testkit::server::{Plan, Question};
use pudu_testkit::{FakeServer, FakeTable, Fate, Gate, Trace, VirtualClock, fixture};
use serde_json::{Map, json};

/// A table, a server, and the calls that followers made.
struct Bench {
    clock: VirtualClock,
    table: FakeTable,
    server: FakeServer,
    ops: Arc<Mutex<Vec<&'static str>>>,
}

impl Bench {
    /// Its n-th task lives by `plan(n)`.
    async fn new(plan: impl FnMut(usize) -> Plan + Send + 'static) -> Self {
        let clock = VirtualClock::start();
        let (table, server) = (FakeTable::new(), FakeServer::new(Arc::new(clock), plan));
        let bench = Self { clock, table, server, ops: Arc::default() };
        let servers = fixture::config().pointer("/mcpServers").cloned().unwrap();
        bench.wiring(clock).configs.put(&json!({ "mcp_servers": servers }), By::default()).await.unwrap();
        bench
    }

    /// Tasks that go on for a day.
    async fn long() -> Self {
        Self::new(|_| Plan::completes_after(Duration::from_hours(24))).await
    }

    fn wiring(&self, clock: VirtualClock) -> Wiring {
        let gate = Gate::new("it", Arc::new(clock), Trace::hashed(), Open);
        wired(clock, &self.table, &self.server, &gate)
    }

    async fn submit_by(&self, clock: VirtualClock) -> TaskId {
        // Each process here draws the same numbers; another moment makes another id of them.
        self.clock.sleep(Duration::from_millis(1)).await;
        let before: Vec<TaskKey> = self.table.tasks().into_iter().map(|row| row.task.key).collect();
        let name = format!("{}_{}", fixture::SERVER, fixture::SUBMIT_TOOL);
        let (who, caller) = (fixture::principal(), Caller::of(fixture::thread("t")));
        let tools = self.wiring(clock).tools();
        tools.invoke(&who, caller, &name, Map::new(), Terms::default()).await.unwrap();
        let new = self.table.tasks().into_iter().find(|row| !before.contains(&row.task.key));
        new.unwrap().task.key.id
    }

    async fn submit(&self) -> TaskId {
        self.submit_by(self.clock).await
    }

    async fn tick(&self) {
        let wiring = self.wiring(self.clock);
        let deadline = Deadline::at(self.clock.now() + Duration::from_secs(60));
        wiring.drain().run(Arc::new(wiring.poller()), deadline).await;
    }

    fn follower(&self) -> Follower {
        let ops = Arc::clone(&self.ops);
        let listening = move |call: Call<'_>| {
            ops.lock().unwrap().push(call.op);
            Fate::Pass
        };
        let gate = Gate::new("follower", Arc::new(self.clock), Trace::hashed(), listening);
        let wiring = wired(self.clock, &self.table, &self.server, &gate);
        Follower::new(wiring.tasks(), wiring.threads(), fixture::thread("t"))
    }

    /// The calls since the last time.
    fn ops(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.ops.lock().unwrap())
    }
}

fn ids(look: &Look) -> Vec<TaskId> {
    look.changed.iter().map(|told| told.listed.task.key.id.clone()).collect()
}

fn told(look: &Look) -> Vec<(TaskId, Status)> {
    let told = look.changed.iter().map(|told| &told.listed.task);
    told.map(|task| (task.key.id.clone(), task.status())).collect()
}

fn second() -> Duration {
    Duration::from_secs(1)
}

#[tokio::test(start_paused = true)]
async fn a_change_is_told_once_and_an_unchanged_poll_is_not() {
    let question = Question { from: second() * 20, until: second() * 3600, text: "which year?".into() };
    let plan = Plan { questions: vec![question], ..Plan::completes_after(second() * 7200) };
    let bench = Bench::new(move |_| plan.clone()).await;
    let mut follower = bench.follower();
    assert_eq!(follower.begin(None).await.unwrap().changed, [], "a thread without tasks is followed as well");
    let id = bench.submit().await;
    assert_eq!(told(&follower.look().await.unwrap()), [(id.clone(), Status::Submitted)]);
    bench.clock.sleep(second() * 6).await;
    bench.tick().await;
    let look = follower.look().await.unwrap();
    assert_eq!((told(&look), look.changed[0].question.clone()), (vec![(id.clone(), Status::Working)], None));
    bench.clock.sleep(second() * 6).await;
    bench.tick().await;
    assert_eq!(follower.look().await.unwrap().changed, [], "it was only polled once more");
    bench.clock.sleep(second() * 20).await;
    bench.tick().await;
    let look = follower.look().await.unwrap();
    assert_eq!(told(&look), [(id.clone(), Status::InputRequired)]);
    assert_eq!(look.changed[0].question.as_ref().unwrap()["prompt"], "which year?");
    let key = TaskKey { thread: fixture::thread("t"), id: id.clone() };
    let beacons = bench.table.store(Arc::new(bench.clock), Gate::open());
    fixture::a_poller_was_here(&beacons, bench.clock.now()).await.unwrap();
    bench.wiring(bench.clock).tasks().cancel(&key).await.unwrap().unwrap();
    let look = follower.look().await.unwrap();
    assert!(look.changed[0].listed.task.cancel.is_some(), "that somebody asked for its end is told");
    bench.tick().await;
    assert_eq!(told(&follower.look().await.unwrap()), [(id, Status::Cancelled)]);
    bench.clock.sleep(OVERLAP * 2).await;
    bench.ops();
    assert_eq!(follower.look().await.unwrap().changed, []);
    assert_eq!(bench.ops(), ["threads.load", "tasks.list", "tasks.glance"], "nothing is left to look at");
}

#[tokio::test(start_paused = true)]
async fn a_follower_without_a_watermark_hears_of_all_that_goes_on_and_of_the_newest() {
    let bench = Bench::new(|number| {
        Plan::completes_after(if number == 3 { Duration::from_hours(24) } else { Duration::ZERO })
    })
    .await;
    let mut submitted = Vec::new();
    for _ in 0..SHOWN_FIRST + 20 {
        submitted.push(bench.submit().await);
        bench.clock.sleep(second()).await;
    }
    bench.clock.sleep(OVERLAP).await;
    bench.tick().await;
    let first = bench.follower().begin(None).await.unwrap();
    let wanted: Vec<TaskId> =
        [submitted[3].clone()].into_iter().chain(submitted[20..].iter().cloned()).collect();
    assert_eq!(ids(&first), wanted, "the oldest first");
}

/// What ended while somebody was away is told, however old it is; what has not changed since is not.
#[tokio::test(start_paused = true)]
async fn who_comes_back_hears_what_changed_since_a_little_before() {
    let bench =
        Bench::new(|number| Plan::completes_after(second() * if number == 0 { 400 } else { 1 })).await;
    let old = bench.submit().await;
    for _ in 0..60 {
        bench.submit().await;
        bench.clock.sleep(second()).await;
    }
    bench.clock.sleep(OVERLAP).await;
    bench.tick().await;
    bench.clock.sleep(OVERLAP * 2).await;
    let watermark = bench.follower().begin(None).await.unwrap().watermark;
    bench.clock.sleep(second() * 400).await;
    bench.tick().await;
    let new = bench.submit().await;
    let back = bench.follower().begin(Some(watermark)).await.unwrap();
    assert_eq!(told(&back), [(old.clone(), Status::Completed), (new.clone(), Status::Submitted)]);
    // A change of shortly before the watermark comes again: clocks differ.
    let later = back.watermark;
    assert_eq!(ids(&bench.follower().begin(Some(later)).await.unwrap()), [old, new]);
    let long_after = Timestamp::from_millis(later.as_millis() + 60_000);
    assert_eq!(bench.follower().begin(Some(long_after)).await.unwrap().changed, []);
}

/// Ids are ordered by the clock of whoever made them: one that is behind puts new tasks among older ones.
#[tokio::test(start_paused = true)]
async fn a_task_of_a_clock_that_is_behind_is_new_all_the_same() {
    let bench = Bench::long().await;
    let (first, mut follower) = (bench.submit().await, bench.follower());
    assert_eq!(ids(&follower.begin(None).await.unwrap()), std::slice::from_ref(&first));
    bench.clock.sleep(second()).await;
    let behind = bench.submit_by(bench.clock.skewed(-5_000)).await;
    assert!(behind < first);
    assert_eq!(ids(&follower.look().await.unwrap()), [behind]);
    assert_eq!(follower.look().await.unwrap().changed, []);
    let burst: Vec<TaskId> = vec![bench.submit().await, bench.submit().await, bench.submit().await];
    let mut new = ids(&follower.look().await.unwrap());
    new.sort();
    let mut wanted = burst.clone();
    wanted.sort();
    assert_eq!(new, wanted);
}

/// What may still be answered at once is no task yet.
#[tokio::test(start_paused = true)]
async fn a_submission_is_told_when_there_is_a_task() {
    let bench = Bench::long().await;
    let slow = |call: Call<'_>| {
        if call.op == "driver.submit" { Fate::Late(Duration::from_secs(3)) } else { Fate::Pass }
    };
    let gate = Gate::new("slow", Arc::new(bench.clock), Trace::hashed(), slow);
    let tools = wired(bench.clock, &bench.table, &bench.server, &gate).tools();
    let name = format!("{}_{}", fixture::SERVER, fixture::SUBMIT_TOOL);
    let (who, caller) = (fixture::principal(), Caller::of(fixture::thread("t")));
    let mut follower = bench.follower();
    follower.begin(None).await.unwrap();
    let submitting = tools.invoke(&who, caller, &name, Map::new(), Terms::default());
    let (submitted, meanwhile) = tokio::join!(submitting, async {
        bench.clock.sleep(second()).await;
        assert_eq!(bench.table.tasks().len(), 1, "the intent is there");
        follower.look().await.unwrap().changed
    });
    submitted.unwrap();
    assert_eq!(meanwhile, []);
    assert_eq!(follower.look().await.unwrap().changed.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn many_tasks_take_turns_and_none_is_forgotten() {
    let bench = Bench::new(|_| Plan::completes_after(second() * 60)).await;
    for _ in 0..130 {
        bench.submit().await;
    }
    let mut follower = bench.follower();
    assert_eq!(follower.begin(None).await.unwrap().changed.len(), 130);
    bench.clock.sleep(second() * 120).await;
    bench.tick().await;
    let (one, two) = (follower.look().await.unwrap(), follower.look().await.unwrap());
    assert_eq!((one.changed.len(), two.changed.len()), (100, 30));
    let mut all = [ids(&one), ids(&two)].concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 130);
}

/// A look in which not every task had its turn says to go on from before those that wait.
#[tokio::test(start_paused = true)]
async fn who_comes_back_in_the_middle_of_the_turns_misses_nothing() {
    let bench = Bench::new(|_| Plan::completes_after(second() * 60)).await;
    for _ in 0..130 {
        bench.submit().await;
    }
    let mut follower = bench.follower();
    follower.begin(None).await.unwrap();
    bench.clock.sleep(second() * 120).await;
    bench.tick().await;
    bench.clock.sleep(OVERLAP * 3).await;
    let look = follower.look().await.unwrap();
    assert_eq!(look.changed.len(), 100);
    let back = bench.follower().begin(Some(look.watermark)).await.unwrap();
    let mut all = [ids(&look), ids(&back)].concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 130);
}

/// However many tasks the thread had: once they were read, a look asks for those that go on and for the newest end.
#[tokio::test(start_paused = true)]
async fn a_look_costs_the_same_however_many_tasks_there_were() {
    let bench = Bench::new(|number| {
        Plan::completes_after(if number < 250 { Duration::ZERO } else { Duration::from_hours(24) })
    })
    .await;
    for _ in 0..255 {
        bench.submit().await;
    }
    bench.clock.sleep(OVERLAP * 2).await;
    bench.tick().await;
    let mut follower = bench.follower();
    assert_eq!(follower.begin(None).await.unwrap().changed.len(), SHOWN_FIRST);
    assert_eq!(bench.ops(), ["threads.load", "tasks.list", "tasks.list", "tasks.list"], "the thread once");
    follower.look().await.unwrap();
    assert_eq!(bench.ops(), ["tasks.list", "tasks.glance"]);
    bench.clock.sleep(second() * 5).await;
    follower.look().await.unwrap();
    assert_eq!(
        bench.ops(),
        ["threads.load", "tasks.list", "tasks.glance"],
        "and now and then the thread itself"
    );
    const { assert!(FOLLOWED >= 1_000, "the newest are followed at least") };
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_is_deleted_ends_what_follows_it() {
    let bench = Bench::long().await;
    bench.submit().await;
    let (mut follower, mut later) = (bench.follower(), bench.follower());
    assert!(!follower.begin(None).await.unwrap().is_over && !later.begin(None).await.unwrap().is_over);
    let threads = bench.wiring(bench.clock).threads();
    threads.delete(&fixture::thread("t")).await.unwrap().unwrap();
    follower.hurry();
    assert!(follower.look().await.unwrap().is_over, "as soon as it is to be deleted");
    assert!(bench.follower().begin(None).await.unwrap().is_over);
    // One who looks only when nothing of it is left, or when there is another by the same name.
    for _ in 0..4 {
        bench.tick().await;
        bench.clock.sleep(second() * 60).await;
    }
    assert_eq!(bench.table.threads(), []);
    bench.submit().await;
    assert!(later.look().await.unwrap().is_over);
    let store = bench.table.store(Arc::new(bench.clock), Gate::open());
    let there = ThreadStore::load(&store, &fixture::thread("t")).await.unwrap().unwrap();
    assert!(thread::decide(&there, thread::Command::Finish, bench.clock.now(), &Policy::default()).is_err());
    assert!(!bench.follower().begin(None).await.unwrap().is_over, "the new one is followed");
}

#[tokio::test(start_paused = true)]
async fn pages_follow_each_other_with_and_without_a_status() {
    let bench = Bench::new(|number| {
        Plan::completes_after(if number % 3 == 0 { Duration::from_hours(24) } else { Duration::ZERO })
    })
    .await;
    let mut newest = Vec::new();
    for number in 0..25 {
        newest.insert(0, (number, bench.submit().await));
        bench.clock.sleep(second()).await;
    }
    bench.clock.sleep(second() * 10).await;
    bench.tick().await;
    let tasks = bench.wiring(bench.clock).tasks();
    let completed = |number: &usize| !number.is_multiple_of(3);
    for (statuses, wanted) in [
        (vec![], newest.iter().map(|(_, id)| id.clone()).collect::<Vec<_>>()),
        (
            vec![Status::Completed],
            newest.iter().filter(|(n, _)| completed(n)).map(|(_, id)| id.clone()).collect(),
        ),
        (
            vec![Status::Working, Status::Failed],
            newest.iter().filter(|(n, _)| !completed(n)).map(|(_, id)| id.clone()).collect(),
        ),
        (vec![Status::Failed], vec![]),
    ] {
        for limit in [1, 4, 25, 100] {
            let (mut seen, mut before) = (Vec::new(), None);
            loop {
                let part = Part { limit, before, statuses: statuses.clone() };
                let page = tasks.page(&fixture::thread("t"), &part).await.unwrap();
                assert!(page.rows.len() <= limit);
                seen.extend(page.rows.into_iter().map(|row| row.task.key.id));
                before = page.next;
                if before.is_none() {
                    break;
                }
            }
            assert_eq!(seen, wanted, "{statuses:?} by {limit}");
        }
    }
    // A full page at the very end says that nothing follows.
    let part = Part { limit: 25, ..Part::default() };
    assert_eq!(tasks.page(&fixture::thread("t"), &part).await.unwrap().next, None);
}

/// A status that nothing has is not looked for through years of tasks in one request.
#[tokio::test(start_paused = true)]
async fn a_page_looks_at_so_many_tasks_at_most() {
    let bench = Bench::long().await;
    for _ in 0..LOOKED_AT + 50 {
        bench.submit().await;
    }
    let oldest = bench.table.tasks()[0].task.key.id.clone();
    let tasks = bench.wiring(bench.clock).tasks();
    let mut part = Part { limit: 10, before: None, statuses: vec![Status::Failed] };
    let page = tasks.page(&fixture::thread("t"), &part).await.unwrap();
    let next = page.next.unwrap();
    assert!(page.rows.is_empty() && next > oldest);
    let store = bench.table.store(Arc::new(bench.clock), Gate::open());
    let left = store.list(&fixture::thread("t"), 1_000, Some(&next)).await.unwrap();
    assert_eq!(left.len(), 50);
    part.before = Some(next);
    assert_eq!(tasks.page(&fixture::thread("t"), &part).await.unwrap().next, None);
}
