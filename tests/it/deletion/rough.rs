//! Deletions by chance: submissions, deletions and workers side by side, with crashes, lost answers and calls so slow that leases
//! run out under them. A seed decides everything.

use pudu_domain::thread::State;
use pudu_testkit::SeededRandom;
use pudu_testkit::gate::Mishaps;
use tokio::task::JoinSet;

use super::*;

const SEEDS: u64 = 150;
/// How long things go wrong.
const ROUGH: Duration = Duration::from_secs(600);

fn mishaps(random: &SeededRandom) -> Mishaps {
    Mishaps { random: random.fork(), crash: 20, fail: 40, slow: 30, slowest: Duration::from_secs(180) }
}

/// Submitters are only slow: what one that dies leaves at its server is reported to its thread and not tracked, with or without
/// a deletion.
async fn submitter(yard: Arc<Yard>, at: Duration, random: SeededRandom) {
    yard.clock.sleep(at).await;
    let late = random.millis(0..30_000);
    let slow = move |call: Call<'_>| match call.op {
        "driver.submit" => Fate::Late(late),
        _ => Fate::Pass,
    };
    let key = random.chance(30).then_some("k");
    // The thread may be gone, or the key's first submission under way: all of it is an answer.
    let _ = yard.submit_through(key, slow).await;
}

async fn worker(yard: Arc<Yard>, poller: bool, random: SeededRandom) {
    let over = yard.clock.now() + ROUGH;
    while yard.clock.now() < over {
        yard.work_as(poller, mishaps(&random)).await;
        yard.clock.sleep(random.millis(100..20_000)).await;
    }
}

/// The thread after rough times; whether a deletion was begun in them.
async fn lived(seed: u64) -> (Arc<Yard>, bool) {
    let random = SeededRandom::new(seed);
    let yard = Arc::new(Yard::new().await);
    let mut acts = JoinSet::new();
    let within = |part: u64| random.millis(0..u64::try_from(ROUGH.as_millis()).unwrap() / part);
    for _ in 0..=random.below(5) {
        acts.spawn(submitter(Arc::clone(&yard), within(1), random.fork()));
    }
    for poller in [true, true, false] {
        acts.spawn(worker(Arc::clone(&yard), poller, random.fork()));
    }
    for _ in 0..=random.below(2) {
        let (yard, at, mishaps) = (Arc::clone(&yard), within(2), mishaps(&random));
        acts.spawn(async move {
            yard.clock.sleep(at).await;
            yard.delete(mishaps).await;
        });
    }
    while let Some(act) = acts.join_next().await {
        act.unwrap();
    }
    let threads = yard.table.threads();
    let begun = threads.is_empty() || threads.iter().any(|thread| !matches!(thread.state, State::Open));
    (yard, begun)
}

#[tokio::test(start_paused = true)]
async fn whatever_happens_nothing_of_a_deleted_thread_is_left_and_nothing_runs_untracked() {
    let (mut submitted, mut begun) = (0, 0);
    for seed in 0..SEEDS {
        let (yard, deleting) = lived(seed).await;
        submitted += yard.server.tasks().len();
        begun += usize::from(deleting);
        // What was submitted after the deletion was over is a thread of its own, and goes here.
        yard.delete(Open).await;
        yard.settle().await;
        assert!(yard.left().is_empty(), "seed {seed}: {:#?}", yard.left());
        assert_eq!(yard.running(), 0, "seed {seed}");
    }
    // A world in which nothing happens leaves nothing.
    assert!(submitted > 150 && begun > 50, "{submitted} submissions, {begun} deletions");
}
