//! The pool over scripted servers in memory. Time stands still unless a test moves it.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use pudu_app::changes::ListChanges;
use pudu_config::{Document, NoSecrets};
use pudu_domain::{ThreadId, UserId};
use serde_json::{Map, json};
use tokio::sync::Semaphore;
use tokio::task::yield_now;

use super::*;
use crate::pipe::{Headers, Outlet, Pipe};
use crate::stdio::Launcher;

/// Far longer than anything here takes.
const LONG: Duration = Duration::from_secs(30);

/// Not quite long enough to be idle.
const NOT_YET: Duration = IDLE.saturating_sub(Duration::from_secs(1));

/// Starts servers in memory and counts them.
#[derive(Default)]
struct Memory {
    started: AtomicUsize,
    ended: Arc<AtomicUsize>,
    /// What has been said to each server, in order.
    heard: Arc<Mutex<Vec<(usize, Value)>>>,
    /// Where each server's messages go; taken away, its output ends.
    lines: Mutex<Vec<Option<Line>>>,
    /// Whether servers answer `initialize`: each answer takes a permit, if there is a gate.
    gate: Option<Arc<Semaphore>>,
    tasks: Mutex<JoinSet<()>>,
}

type Line = mpsc::UnboundedSender<Result<Vec<u8>, Failure>>;

struct MemoryBody(Arc<AtomicUsize>);

struct MemoryOutlet {
    number: usize,
    to: mpsc::UnboundedSender<Value>,
    heard: Arc<Mutex<Vec<(usize, Value)>>>,
}

impl Host for Memory {
    fn start(&self, recipe: &Recipe, _: Shown) -> Result<(Pipe, Box<dyn Body>), Failure> {
        let number = self.started.fetch_add(1, Ordering::SeqCst);
        let (say, said) = mpsc::unbounded_channel();
        let (to, mut asked) = mpsc::unbounded_channel::<Value>();
        let line = say.downgrade();
        self.lines.lock().unwrap().push(Some(say));
        let gate = self.gate.clone();
        self.tasks.lock().unwrap().spawn(async move {
            while let Some(message) = asked.recv().await {
                let result = match message["method"].as_str() {
                    Some("initialize") => {
                        if let Some(gate) = &gate {
                            gate.acquire().await.expect("a gate").forget();
                        }
                        let info = json!({"name": "memory", "version": "1"});
                        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info})
                    }
                    Some("tools/call") if message["params"]["name"] == "echo" => json!({"by": number}),
                    _ => continue,
                };
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
                if let Some(line) = line.upgrade() {
                    line.send(Ok(answer.to_string().into_bytes())).expect("a pipe");
                }
            }
        });
        let inlet = stream::unfold(said, |mut said| async { Some((said.recv().await?, said)) }).boxed();
        let outlet = MemoryOutlet { number, to, heard: Arc::clone(&self.heard) };
        Ok((Pipe::new(recipe.peer(), inlet, Arc::new(outlet)), Box::new(MemoryBody(Arc::clone(&self.ended)))))
    }
}

#[async_trait]
impl Body for MemoryBody {
    async fn end(self: Box<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Outlet for MemoryOutlet {
    async fn send(&self, message: Vec<u8>) -> Result<(), Failure> {
        let message: Value = serde_json::from_slice(&message).expect("JSON");
        self.heard.lock().unwrap().push((self.number, message.clone()));
        self.to.send(message).map_err(|_| Failure::new(CallFault::NotSent, "gone"))
    }

    async fn close(&self) {}
}

struct World {
    host: Arc<Memory>,
    pool: Arc<Pool>,
}

impl World {
    fn new(host: Memory, capacity: usize) -> Self {
        let host = Arc::new(host);
        let pool = Pool::new(host.clone(), capacity, IDLE);
        Self { host, pool: Arc::new(pool) }
    }

    fn plain() -> Self {
        Self::new(Memory::default(), CAPACITY)
    }

    /// A world whose servers answer `initialize` once for each permit of the gate.
    fn gated() -> (Self, Arc<Semaphore>) {
        let gate = Arc::new(Semaphore::new(0));
        (Self::new(Memory { gate: Some(Arc::clone(&gate)), ..Memory::default() }, CAPACITY), gate)
    }

    fn started(&self) -> usize {
        self.host.started.load(Ordering::SeqCst)
    }

    fn ended(&self) -> usize {
        self.host.ended.load(Ordering::SeqCst)
    }

    /// Ends the output of the server with that number.
    fn kill(&self, number: usize) {
        self.host.lines.lock().unwrap()[number] = None;
    }

    async fn call(&self, key: Key, tool: &str, limit: Duration) -> Result<Value, Failure> {
        let mut lease = self.pool.acquire(key, recipe("a"))?;
        lease.opened().await?;
        lease.ask(ask(tool), Instant::now() + limit, limit).await
    }

    async fn echo(&self, key: Key) -> u64 {
        let answer = self.call(key, "echo", LONG).await.expect("an answer");
        answer["by"].as_u64().expect("a number")
    }

    /// A call that its server never answers, from when the server has it.
    async fn hanging(&self, key: Key, tasks: &mut JoinSet<Result<Value, Failure>>) {
        let pool = Arc::clone(&self.pool);
        tasks.spawn(async move {
            let mut lease = pool.acquire(key, recipe("a"))?;
            lease.opened().await?;
            lease.ask(ask("hang"), Instant::now() + LONG, LONG).await
        });
        until(|| self.heard("hang") > 0).await;
    }

    /// How many messages with that text servers got.
    fn heard(&self, text: &str) -> usize {
        let heard = self.host.heard.lock().unwrap();
        heard.iter().filter(|(_, message)| message.to_string().contains(text)).count()
    }
}

/// Lets others work until it is so.
async fn until(mut so: impl FnMut() -> bool) {
    for _ in 0..10_000 {
        if so() {
            return;
        }
        yield_now().await;
    }
    panic!("it did not come to that");
}

fn key(server: &str, user: &str, thread: &str) -> Key {
    let user = UserId::parse(user).expect("a user");
    let thread = ThreadId::parse(thread).expect("a thread");
    Key { server: server.to_owned(), thread: ThreadKey { user, thread } }
}

fn a() -> Key {
    key("s", "local:u", "a")
}

fn recipe(argument: &str) -> Recipe {
    let servers = json!({"mcpServers": {"s": {"command": "x", "args": [argument]}}});
    let document = Document::parse(servers).expect("a config");
    let launcher = Launcher::new("/nowhere", |_| None, true);
    Recipe::of(document.server("s").expect("a server"), &NoSecrets, &launcher, &ListChanges::default())
        .expect("a recipe")
}

fn ask(tool: &str) -> Ask {
    let params = Map::from_iter([("name".to_owned(), json!(tool))]);
    Ask { method: "tools/call", params, headers: Headers::default(), sent: Arc::default(), relayed: None }
}

#[tokio::test(start_paused = true)]
async fn vector_33_concurrent_acquisitions_of_one_key_share_one_creation() {
    let world = World::plain();
    let calls = (0..20).map(|_| world.echo(a()));
    let by = futures_util::future::join_all(calls).await;
    assert_eq!((by, world.started()), (vec![0; 20], 1));
}

#[tokio::test(start_paused = true)]
async fn vector_34_room_is_made_by_the_session_that_was_not_used_for_longest() {
    let world = World::new(Memory::default(), 2);
    let (b, c) = (key("s", "local:u", "b"), key("s", "local:u", "c"));
    assert_eq!((world.echo(a()).await, world.echo(b.clone()).await), (0, 1));
    assert_eq!(world.echo(a()).await, 0, "used again, so the other is the older one");
    assert_eq!(world.echo(c).await, 2);
    until(|| world.ended() == 1).await;
    assert_eq!((world.echo(a()).await, world.pool.len()), (0, 2));
    assert_eq!(world.echo(b).await, 3, "it was closed");
}

#[tokio::test(start_paused = true)]
async fn sessions_in_use_are_not_sacrificed_and_creations_in_flight_count() {
    let (world, _gate) = World::gated();
    let world = World { pool: Arc::new(Pool::new(world.host.clone(), 1, IDLE)), ..world };
    let _opening = world.pool.acquire(a(), recipe("a")).expect("a session");
    let refused = world.pool.acquire(key("s", "local:u", "b"), recipe("a")).err().expect("no room");
    assert_eq!(refused.fault, CallFault::NotSent);
    assert!(refused.message.contains("1 sessions with stdio servers are in use"), "{refused}");
    assert_eq!(world.pool.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn vector_35_a_creator_that_goes_away_leaves_nothing_behind() {
    let (world, _gate) = World::gated();
    let mut lease = world.pool.acquire(a(), recipe("a")).expect("a session");
    tokio::select! {
        biased;
        _ = lease.opened() => panic!("nobody answers"),
        () = until(|| world.heard("initialize") == 1) => {}
    }
    assert_eq!(world.pool.len(), 1);
    drop(lease);
    until(|| world.ended() == 1).await;
    assert_eq!(world.pool.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn vector_35_those_who_joined_a_creator_that_went_away_still_get_the_session() {
    let (world, gate) = World::gated();
    let creator = world.pool.acquire(a(), recipe("a")).expect("a session");
    let mut joiner = world.pool.acquire(a(), recipe("a")).expect("a session");
    until(|| world.heard("initialize") == 1).await;
    drop(creator);
    gate.add_permits(1);
    assert_eq!(joiner.opened().await, Ok(()));
    let answer = joiner.ask(ask("echo"), Instant::now() + LONG, LONG).await;
    assert_eq!((answer, world.started()), (Ok(json!({"by": 0})), 1));
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_after_a_creation_was_given_up_gets_a_new_one() {
    let (world, gate) = World::gated();
    drop(world.pool.acquire(a(), recipe("a")).expect("a session"));
    gate.add_permits(2);
    assert_eq!(world.echo(a()).await, u64::try_from(world.started() - 1).expect("small"));
    until(|| world.ended() == world.started() - 1).await;
}

#[tokio::test(start_paused = true)]
async fn vector_37_one_thread_name_of_two_users_is_two_sessions() {
    let world = World::plain();
    assert_eq!(world.echo(key("s", "local:u", "t")).await, 0);
    assert_eq!(world.echo(key("s", "local:v", "t")).await, 1);
    assert_eq!(world.echo(key("other", "local:u", "t")).await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_creation_is_told_to_all_who_wait_and_leaves_no_record() {
    let (world, _gate) = World::gated();
    let mut leases = [(); 3].map(|()| world.pool.acquire(a(), recipe("a")).expect("a session"));
    until(|| world.heard("initialize") == 1).await;
    world.kill(0);
    for lease in &mut leases {
        assert_eq!(lease.opened().await.expect_err("a failure").fault, CallFault::NotSent);
    }
    until(|| world.ended() == 1).await;
    assert_eq!(world.pool.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_initialises_is_given_up_after_its_time() {
    let (world, _gate) = World::gated();
    let began = Instant::now();
    let mut lease = world.pool.acquire(a(), recipe("a")).expect("a session");
    let failure = lease.opened().await.expect_err("a failure");
    assert_eq!(began.elapsed().as_secs(), 60, "the default of session_init_timeout");
    assert_eq!(failure.fault, CallFault::NotSent);
    until(|| world.ended() == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_close_wins_over_a_creation_in_flight() {
    let (world, gate) = World::gated();
    let mut lease = world.pool.acquire(a(), recipe("a")).expect("a session");
    until(|| world.heard("initialize") == 1).await;
    let close = world.pool.close(|_| true);
    // The answer is there in the same moment.
    gate.add_permits(1);
    close.await;
    assert_eq!((world.ended(), world.pool.len()), (1, 0));
    assert_eq!(lease.opened().await.expect_err("closed").fault, CallFault::NotSent);
}

#[tokio::test(start_paused = true)]
async fn vector_40_a_closed_connection_evicts_that_session_only_and_nothing_is_replayed() {
    let world = World::plain();
    let mut tasks = JoinSet::new();
    world.hanging(a(), &mut tasks).await;
    // A newer session under the same key, while a call still runs in the old one.
    let mut newer = world.pool.acquire(a(), recipe("b")).expect("a session");
    newer.opened().await.expect("open");
    world.kill(0);
    let failure = tasks.join_next().await.expect("a task").expect("no panic").expect_err("a failure");
    assert_eq!(failure.fault, CallFault::Broken);
    until(|| world.ended() == 1).await;
    assert_eq!(world.pool.len(), 1, "the newer one is still there");
    let answer = newer.ask(ask("echo"), Instant::now() + LONG, LONG).await;
    assert_eq!(answer, Ok(json!({"by": 1})));
    assert_eq!((world.heard("hang"), world.started()), (1, 2), "the call was sent once");
}

#[tokio::test(start_paused = true)]
async fn vector_40_the_next_call_after_a_closed_connection_has_a_fresh_session() {
    let world = World::plain();
    let mut tasks = JoinSet::new();
    world.hanging(a(), &mut tasks).await;
    world.kill(0);
    tasks.join_next().await.expect("a task").expect("no panic").expect_err("a failure");
    // At once: whoever sees the failure does not meet the dead session.
    assert_eq!(world.echo(a()).await, 1);
}

#[tokio::test(start_paused = true)]
async fn vector_41_a_call_that_takes_too_long_is_cancelled_and_keeps_the_session() {
    let world = World::plain();
    let limit = Duration::from_secs(3);
    let failure = world.call(a(), "hang", limit).await.expect_err("too long");
    assert_eq!(failure.fault, CallFault::Timeout);
    until(|| world.heard("notifications/cancelled") == 1).await;
    assert_eq!((world.echo(a()).await, world.started(), world.ended()), (0, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_goes_away_has_its_call_cancelled() {
    let world = World::plain();
    let mut tasks = JoinSet::new();
    world.hanging(a(), &mut tasks).await;
    tasks.shutdown().await;
    until(|| world.heard("notifications/cancelled") == 1).await;
    assert_eq!(world.echo(a()).await, 0);
}

#[tokio::test(start_paused = true)]
async fn another_entry_never_uses_the_old_session_whose_calls_end_in_peace() {
    let world = World::plain();
    let mut tasks = JoinSet::new();
    world.hanging(a(), &mut tasks).await;
    let mut changed = world.pool.acquire(a(), recipe("changed")).expect("a session");
    changed.opened().await.expect("open");
    let answer = changed.ask(ask("echo"), Instant::now() + LONG, LONG).await;
    assert_eq!(answer, Ok(json!({"by": 1})));
    assert_eq!(world.ended(), 0, "a call still runs in the old one");
    let failure = tasks.join_next().await.expect("a task").expect("no panic").expect_err("a failure");
    assert_eq!(failure.fault, CallFault::Timeout);
    until(|| world.ended() == 1).await;
    assert_eq!(world.pool.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_session_closes_when_it_was_not_used_for_a_quarter_of_an_hour() {
    let world = World::plain();
    assert_eq!(world.echo(a()).await, 0);
    tokio::time::advance(NOT_YET).await;
    assert_eq!(world.echo(a()).await, 0, "the last use counts");
    tokio::time::advance(NOT_YET).await;
    for _ in 0..100 {
        yield_now().await;
    }
    assert_eq!(world.ended(), 0);
    tokio::time::advance(Duration::from_secs(2)).await;
    until(|| world.ended() == 1).await;
    assert_eq!((world.pool.len(), world.echo(a()).await), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_long_call_is_no_idleness() {
    let world = World::plain();
    let mut tasks = JoinSet::new();
    world.hanging(a(), &mut tasks).await;
    tokio::time::advance(LONG / 2).await;
    tasks.join_next().await.expect("a task").expect("no panic").expect_err("too long");
    assert_eq!((world.echo(a()).await, world.ended()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn sessions_are_closed_by_thread_and_by_server() {
    let world = World::plain();
    let keys = [a(), key("other", "local:u", "a"), key("s", "local:u", "b"), key("s", "local:v", "a")];
    for key in &keys {
        world.echo(key.clone()).await;
    }
    let thread = a().thread;
    world.pool.close(|key| key.thread == thread).await;
    assert_eq!((world.ended(), world.pool.len()), (2, 2));
    world.pool.close(|key| key.server == "s").await;
    assert_eq!((world.ended(), world.pool.len()), (4, 0));
    world.pool.close(|_| true).await;
}

#[tokio::test(start_paused = true)]
async fn a_close_ends_a_call_that_runs() {
    let world = World::plain();
    let mut tasks = JoinSet::new();
    world.hanging(a(), &mut tasks).await;
    world.pool.close(|_| true).await;
    let failure = tasks.join_next().await.expect("a task").expect("no panic").expect_err("closed");
    assert_eq!(failure.fault, CallFault::Broken);
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_is_dropped_takes_its_sessions_along() {
    let (world, _gate) = World::gated();
    let mut lease = world.pool.acquire(a(), recipe("a")).expect("a session");
    until(|| world.heard("initialize") == 1).await;
    drop(world.pool);
    let failure = lease.opened().await.expect_err("it has gone");
    assert_eq!(failure.fault, CallFault::NotSent);
    drop(pending::<()>());
}
