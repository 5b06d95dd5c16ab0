//! What following a thread costs: one unit for the newest end of its list, half a unit for each task that goes on.

use pudu_app::drivers::Drivers;
use pudu_app::tasks::Tasks;
use pudu_app::tasks::follow::Follower;
use pudu_app::threads::Threads;
use pudu_testkit::FakeServer;
use pudu_testkit::server::Plan;

use super::*;

fn follower(life: &Life) -> Follower {
    let table = life.metered.table.clone();
    let settle = life.settle(&table);
    let server = FakeServer::new(life.clock.clone(), |_| Plan::completes_after(Duration::from_secs(1)));
    let threads = Threads {
        store: table,
        client: Arc::new(server.client()),
        clock: life.clock.clone(),
        policy: Policy::default(),
        wakeups: settle.wakeups.clone(),
    };
    Follower::new(Tasks { settle, drivers: Drivers::new(Vec::new()) }, threads, life.key().thread.clone())
}

/// `count` tasks that go on, made a second apart.
async fn going_on(count: u8) -> Life {
    let mut life = Life::ordinary().await;
    for number in 0..count {
        let key = fixture::task_key(&fixture::thread("t1"), life.clock.now(), number);
        life.intent = Intent { key, ..life.intent };
        life.intent.repeatable = None;
        let birth = intend(life.intent.clone(), life.lease(), life.clock.now());
        TaskStore::commit(&*life.metered.table, &birth).await.unwrap();
        let command = Command::RecordSubmit {
            remote: fixture::remote(&format!("r-{number}")),
            snapshot: Snapshot::bare(Status::Submitted),
            started_at: life.clock.now(),
        };
        let table = life.metered.table.clone();
        life.settled(&table, birth.task, &birth.spec.unwrap(), command).await;
        life.clock.advance(Duration::from_secs(1));
    }
    life.clock.advance(Duration::from_secs(60));
    life.metered.calls.take();
    life.metered.costs.take();
    life
}

#[tokio::test]
async fn a_look_at_a_thread_costs_half_a_unit_for_each_task_that_goes_on() {
    for count in [1, 20] {
        let life = going_on(count).await;
        let mut follower = follower(&life);
        assert_eq!(follower.begin(None).await.unwrap().changed.len(), usize::from(count));
        let begun = life.billed(&[GET, QUERY]);
        // The thread, and its tasks with their specs.
        assert!(begun.read <= 2.0 + 0.5 * f64::from(count), "{begun:?}");
        for _ in 0..3 {
            life.clock.advance(Duration::from_secs(1));
            assert_eq!(follower.look().await.unwrap().changed, []);
            let cost = Cost { write: 0.0, read: 1.0 + 0.5 * f64::from(count) };
            assert_eq!(life.billed(&[QUERY, BATCH]), cost);
        }
    }
}

/// Nothing goes on: a look is one unit, and each five seconds one more for the thread itself.
#[tokio::test]
async fn a_quiet_thread_costs_a_unit_a_look() {
    let life = going_on(1).await;
    let table = life.metered.table.clone();
    let mut follower = follower(&life);
    let done = Command::RecordStatus(fixture::said(Status::Completed));
    life.poll(&table, done).await;
    life.clock.advance(Duration::from_secs(60));
    follower.begin(None).await.unwrap();
    life.metered.calls.take();
    life.metered.costs.take();
    life.clock.advance(Duration::from_secs(1));
    follower.look().await.unwrap();
    assert_eq!(life.billed(&[QUERY]), Cost { write: 0.0, read: 1.0 });
    life.clock.advance(Duration::from_secs(5));
    follower.look().await.unwrap();
    assert_eq!(life.billed(&[GET, QUERY]), Cost { write: 0.0, read: 2.0 });
}
