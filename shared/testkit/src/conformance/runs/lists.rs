//! Lists of runs and of conversations, and that everything of them goes with its thread.

use std::time::Duration;

use pudu_app::ports::{Applied, RecordQuery};
use pudu_domain::run::{Child, Command, Ending, Outcome, Step, Strategy};
use pudu_domain::thread::Command as OfThread;
use pudu_domain::{Conversation, RunId, RunKey, ThreadId, ThreadKey, Timestamp, UserId};

use super::super::life::fail;
use super::{Case, World, cases, frame, keyed, record, run_in, run_key, spec, wanted};
use crate::clock::EPOCH;
use crate::fixture::{thread, thread_of};

pub(in super::super) const CASES: &[Case] = cases![
    runs_are_listed_newest_first_without_children,
    conversations_of_a_user_are_listed_newest_first,
    live_runs_are_those_that_have_not_ended,
    everything_of_runs_goes_with_their_thread,
    a_thread_by_the_same_name_begins_anew,
];

impl World {
    pub(super) async fn listed_runs(&self, limit: usize, before: Option<&RunId>) -> Vec<RunId> {
        let found = self.runs.runs(&thread("t1"), limit, before).await.unwrap_or_else(|e| fail(&e));
        found.into_iter().map(|(run, _)| run.key.id).collect()
    }

    pub(super) async fn listed_conversations(
        &self,
        limit: usize,
        before: Option<&(Timestamp, ThreadId)>,
    ) -> Vec<Conversation> {
        self.conversations_of(&thread("t1").user, limit, before).await
    }

    async fn conversations_of(
        &self,
        user: &UserId,
        limit: usize,
        before: Option<&(Timestamp, ThreadId)>,
    ) -> Vec<Conversation> {
        self.runs.conversations(user, limit, before).await.unwrap_or_else(|e| fail(&e))
    }

    /// A run with everything that a run may have, and a child.
    async fn rich_run(&self, key: &RunKey, text: &str) {
        let mut admission = keyed(key, text);
        admission.secrets = Some("sealed:v1:00".into());
        assert_eq!(self.admit(admission).await, Applied::Done);
        let run = self.claimed_run(key, "agent").await;
        let body = pudu_domain::run::Body::Snapshot(Box::default());
        let step = Step { body: Some(body), notices: vec![frame("x"), record("y")], ..Step::default() };
        let run = self.advance(&run, step.clone()).await;
        let id = RunId::parse(format!("{}.child", key.id.as_str())).unwrap_or_else(|e| fail(&e));
        let until = self.now() + Duration::from_secs(60);
        let child = Child { run: id.clone(), call: "c".into(), spec: spec(Strategy::Reject), until };
        self.does(&run, Command::Park { step, children: vec![child], until }).await;
    }

    /// Deletes a thread in which nothing is left that anybody waits for.
    async fn deleted(&self, key: &ThreadKey) {
        self.entombed(key).await;
        let held = self.held_thread(key, "deletion").await;
        self.emptied(&held).await;
        let change = self.decided_thread(&held, OfThread::Finish);
        self.change_thread(&change).await;
    }
}

async fn runs_are_listed_newest_first_without_children(world: World) {
    assert_eq!(world.listed_runs(10, None).await, []);
    for second in 1..=5 {
        let run = world.working(&run_key(second * 10)).await;
        if second % 2 == 0 {
            let child = Child {
                run: run_key(second * 10 + 1).id,
                call: "c".into(),
                spec: spec(Strategy::Reject),
                until: EPOCH,
            };
            let park = Command::Park { step: Step::default(), children: vec![child], until: world.now() };
            world.does(&run, park).await;
            let run = world.claimed_run(&run.key, "agent").await;
            world.run_ends(&run).await;
        } else {
            world.run_ends(&run).await;
        }
    }
    world.admitted(&run_in(&thread("t2"), 60)).await;
    let ids = |seconds: &[u64]| seconds.iter().map(|second| run_key(*second).id).collect::<Vec<_>>();
    assert_eq!(world.listed_runs(10, None).await, ids(&[50, 40, 30, 20, 10]));
    assert_eq!(world.listed_runs(2, None).await, ids(&[50, 40]));
    assert_eq!(world.listed_runs(2, Some(&run_key(40).id)).await, ids(&[30, 20]));
    assert_eq!(world.listed_runs(9, Some(&run_key(10).id)).await, ids(&[]));
    let found = world.runs.runs(&thread("t1"), 1, None).await.unwrap_or_else(|e| fail(&e));
    let expected = (world.run(&run_key(50)).await, spec(Strategy::Reject));
    assert_eq!(found, [expected]);
}

async fn conversations_of_a_user_are_listed_newest_first(world: World) {
    for (second, name) in [(1, "b"), (2, "a"), (3, "c"), (3, "d")] {
        world.clock.set(EPOCH + Duration::from_secs(second));
        world.admitted(&run_in(&thread(name), second)).await;
    }
    world.admitted(&run_in(&thread_of("local:other", "x"), 9)).await;
    world.clock.set(EPOCH + Duration::from_secs(10));
    let run = world.claimed_run(&run_in(&thread("b"), 1), "agent").await;
    world.run_ends(&run).await;
    let names = |found: Vec<Conversation>| -> Vec<String> {
        found.iter().map(|it| it.thread.thread.to_string()).collect()
    };
    let all = world.listed_conversations(10, None).await;
    assert_eq!(all.last(), world.conversation(&thread("b")).await.as_ref(), "as it is now");
    assert_eq!(names(all), ["d", "c", "a", "b"]);
    assert_eq!(names(world.listed_conversations(2, None).await), ["d", "c"]);
    let behind = async |second: u64, name: &str| {
        let place = (EPOCH + Duration::from_secs(second), thread(name).thread);
        names(world.listed_conversations(10, Some(&place)).await)
    };
    assert_eq!(behind(3, "d").await, ["c", "a", "b"], "of one moment by their names");
    assert_eq!(behind(3, "c").await, ["a", "b"]);
    assert_eq!(behind(1, "b").await, [""; 0]);
    let other = thread_of("local:other", "x").user;
    assert_eq!(names(world.conversations_of(&other, 10, None).await), ["x"]);
}

async fn live_runs_are_those_that_have_not_ended(world: World) {
    let live = async |limit| world.threads.live_runs(&thread("t1"), limit).await.unwrap_or_else(|e| fail(&e));
    assert_eq!(live(9).await, []);
    world.rich_run(&run_key(1), "k").await;
    let child = RunId::parse(format!("{}.child", run_key(1).id.as_str())).unwrap_or_else(|e| fail(&e));
    let child = run_key(1).beside(child);
    assert_eq!(world.admit(wanted(&run_key(2), Strategy::Enqueue)).await, Applied::Done);
    world.admitted(&run_in(&thread("t2"), 3)).await;
    assert_eq!(live(9).await, [run_key(1), child.clone(), run_key(2)], "also one that waits for its turn");
    assert_eq!(live(1).await, [run_key(1)]);
    let run = world.run(&run_key(1)).await;
    world.does(&run, Command::Cancel(Ending::new(Outcome::Interrupted, None))).await;
    assert_eq!(live(9).await, [child, run_key(2)]);
}

async fn everything_of_runs_goes_with_their_thread(world: World) {
    let (key, neighbour) = (run_key(1), run_in(&thread("t2"), 2));
    world.rich_run(&key, "k1").await;
    world.rich_run(&neighbour, "k2").await;
    world.deleted(&key.thread).await;
    let child = RunId::parse(format!("{}.child", key.id.as_str())).unwrap_or_else(|e| fail(&e));
    for run in [key.clone(), key.beside(child)] {
        assert_eq!((world.found_run(&run).await, world.spec_of(&run).await), (None, None));
        assert_eq!((world.secrets_of(&run).await, world.told(&run).await), (None, vec![]));
        assert_eq!(world.history_of(&run, 9, 9).await, []);
    }
    assert_eq!(world.conversation(&key.thread).await, None);
    assert_eq!((world.all_records().await, world.by_key(&key.thread, "k1").await), (vec![], None));
    let left: Vec<ThreadKey> =
        world.listed_conversations(9, None).await.into_iter().map(|it| it.thread).collect();
    assert_eq!(left, [thread("t2")]);
    assert!(world.secrets_of(&neighbour).await.is_some());
    assert_eq!(world.by_key(&key.thread, "k2").await.map(|(run, _)| run), Some(neighbour.clone()));
    assert_eq!(world.history_of(&neighbour, 9, 9).await.len(), 2);
    let query = RecordQuery { limit: 9, ..RecordQuery::default() };
    let records = world.runs.records(&neighbour.thread, &query).await.unwrap_or_else(|e| fail(&e));
    assert_eq!(records.len(), 2);
}

async fn a_thread_by_the_same_name_begins_anew(world: World) {
    world.rich_run(&run_key(1), "k").await;
    world.deleted(&thread("t1")).await;
    world.at(5000);
    assert_eq!(world.admit(keyed(&run_key(5), "k")).await, Applied::Done);
    let talk = world.talk().await;
    assert_eq!((talk.runs, talk.created_at), (1, world.now()));
    assert_eq!(world.listed_runs(9, None).await, [run_key(5).id]);
    assert_eq!(world.listed_conversations(9, None).await, [talk]);
    assert!(world.admission(wanted(&run_key(6), Strategy::Reject)).await.is_err(), "and is busy");
}
