//! What runs tell: frames of a stream, which leave after a day and never unnoticed, and records of a thread.

use std::time::Duration;

use pudu_app::ports::{Record, RecordQuery, ToldPage};
use pudu_domain::run::{Command, Notice, Strategy, Told};
use pudu_domain::{Run, RunKey};
use serde_json::json;

use super::super::life::fail;
use super::{Case, World, cases, frame, record, run_in, run_key, telling, wanted};
use crate::clock::EPOCH;
use crate::fixture::thread;

pub(in super::super) const CASES: &[Case] = cases![
    frames_come_in_order_and_only_once,
    a_page_of_frames_may_end_within_a_step,
    nothing_new_is_no_gap,
    frames_that_have_left_are_a_gap,
    frames_are_read_as_they_were_told,
    records_stand_in_the_order_of_runs_and_steps,
    records_are_read_from_either_side,
    records_of_one_run_are_its_own,
];

const DAY: Duration = Duration::from_hours(24);

impl World {
    pub(super) async fn page(&self, key: &RunKey, after: u64, limit: usize) -> ToldPage {
        self.runs.frames(key, after, limit).await.unwrap_or_else(|e| fail(&e))
    }

    /// Every frame of a run.
    pub(super) async fn told(&self, key: &RunKey) -> Vec<Told> {
        self.page(key, 0, 1000).await.told
    }

    async fn query(&self, query: RecordQuery) -> Vec<Record> {
        self.runs.records(&thread("t1"), &query).await.unwrap_or_else(|e| fail(&e))
    }

    pub(super) async fn all_records(&self) -> Vec<Record> {
        self.query(RecordQuery { limit: 1000, ..RecordQuery::default() }).await
    }

    /// A run that told so many steps, each a record between two frames, and has not ended.
    async fn telling(&self, key: &RunKey, steps: u32) -> Run {
        let mut run = self.working(key).await;
        for number in 0..steps {
            let notices = [frame("a"), record(&format!("{number}")), frame("b")];
            run = self.advance(&run, telling(notices.to_vec())).await;
        }
        run
    }
}

fn numbers(page: &ToldPage) -> Vec<u64> {
    page.told.iter().map(|told| told.seq).collect()
}

fn places(records: &[Record]) -> Vec<(u32, u64)> {
    records.iter().map(|record| (record.ordinal, record.seq)).collect()
}

async fn frames_come_in_order_and_only_once(world: World) {
    world.telling(&run_key(1), 3).await;
    world.telling(&run_in(&thread("t2"), 1), 1).await;
    let all = world.page(&run_key(1), 0, 100).await;
    assert_eq!((numbers(&all), all.gap), (vec![1, 3, 4, 6, 7, 9], false));
    assert!(all.told.iter().all(|told| told.run == run_key(1) && told.ordinal == 1 && told.at == EPOCH));
    for (after, rest) in
        [(3, vec![4, 6, 7, 9]), (4, vec![6, 7, 9]), (5, vec![6, 7, 9]), (8, vec![9]), (9, vec![])]
    {
        let page = world.page(&run_key(1), after, 100).await;
        assert_eq!((numbers(&page), page.gap), (rest, false), "after {after}");
    }
}

async fn a_page_of_frames_may_end_within_a_step(world: World) {
    world.telling(&run_key(1), 4).await;
    let (mut after, mut seen) = (0, Vec::new());
    for _ in 0..8 {
        let page = world.page(&run_key(1), after, 1).await;
        assert!(!page.gap && page.told.len() == 1);
        seen.extend(numbers(&page));
        after = seen.last().copied().unwrap_or(0);
    }
    assert_eq!(seen, [1, 3, 4, 6, 7, 9, 10, 12]);
    assert_eq!(numbers(&world.page(&run_key(1), 1, 3).await), [3, 4, 6]);
}

async fn nothing_new_is_no_gap(world: World) {
    assert_eq!(world.page(&run_key(1), 0, 10).await, ToldPage::default(), "no run");
    let run = world.working(&run_key(1)).await;
    assert_eq!(world.page(&run_key(1), 0, 10).await, ToldPage::default(), "a silent one");
    let run = world.advance(&run, telling(vec![record("only")])).await;
    assert_eq!(world.page(&run_key(1), 0, 10).await, ToldPage::default(), "a record is no frame");
    world.advance(&run, telling(vec![frame("x")])).await;
    assert_eq!(numbers(&world.page(&run_key(1), 0, 10).await), [2]);
    assert_eq!(world.page(&run_key(1), 2, 10).await, ToldPage::default());
    world.clock.set(EPOCH + DAY + Duration::from_secs(2));
    assert_eq!(world.page(&run_key(1), 2, 10).await, ToldPage::default(), "he has seen it all");
}

async fn frames_that_have_left_are_a_gap(world: World) {
    world.telling(&run_key(1), 2).await;
    world.clock.set(EPOCH + DAY.saturating_sub(Duration::from_secs(2)));
    assert_eq!(numbers(&world.page(&run_key(1), 0, 10).await), [1, 3, 4, 6]);
    world.clock.set(EPOCH + Duration::from_hours(2));
    let run = world.claimed_run(&run_key(1), "another").await;
    world.advance(&run, telling(vec![frame("late")])).await;
    world.clock.set(EPOCH + DAY + Duration::from_secs(2));
    for after in [0, 1, 3] {
        let page = world.page(&run_key(1), after, 10).await;
        assert_eq!((numbers(&page), page.gap), (vec![7], true), "after {after}");
    }
    let page = world.page(&run_key(1), 6, 10).await;
    assert_eq!((numbers(&page), page.gap), (vec![7], false), "nothing that he lacks has left");
    world.clock.set(EPOCH + DAY + Duration::from_hours(3));
    let page = world.page(&run_key(1), 1, 10).await;
    assert_eq!((numbers(&page), page.gap), (vec![], true));
    assert_eq!(world.page(&run_key(1), 7, 10).await, ToldPage::default());
}

async fn frames_are_read_as_they_were_told(world: World) {
    let run = world.working(&run_key(1)).await;
    let large = json!({"content": "a result as large as results become; ".repeat(8_000), "n": 7});
    let notices = vec![
        Notice::Frame { event: "values".into(), data: json!(null) },
        Notice::Frame { event: "messages-tuple".into(), data: large.clone() },
        Notice::Frame { event: "custom".into(), data: large.clone() },
        Notice::Values { number: 3, behind: Some(1) },
        Notice::Frame { event: "\u{fc}".into(), data: json!([{"a": 0.5}, "\u{1f98c}"]) },
    ];
    let change = world.decided_run(&run, Command::Relay(notices)).await;
    assert_eq!(world.apply(&change).await, pudu_app::ports::Applied::Done);
    assert!(world.told(&run_key(1)).await == change.told, "what is read is what was told");
    for after in 0..5 {
        let page = world.page(&run_key(1), after, 10).await;
        assert_eq!((numbers(&page), page.gap), ((after + 1..=5).collect(), false));
    }
}

async fn records_stand_in_the_order_of_runs_and_steps(world: World) {
    let first = world.telling(&run_key(1), 2).await;
    world.run_ends(&first).await;
    world.telling(&run_key(2), 1).await;
    let all = world.all_records().await;
    assert_eq!(places(&all), [(1, 2), (1, 5), (1, 7), (2, 2)]);
    assert_eq!(all.first().map(|it| (&it.run, &it.notice)), Some((&run_key(1), &record("0"))));
    let end = all.get(2).map(|it| &it.notice);
    assert!(matches!(end, Some(Notice::Record { event_type, .. }) if event_type == "run.end"), "{end:?}");
}

async fn records_are_read_from_either_side(world: World) {
    let run = world.working(&run_key(1)).await;
    let many = |from: u32| (from..from + 3).map(|number| record(&number.to_string())).collect();
    let run = world.advance(&run, telling(many(0))).await;
    let run = world.advance(&run, telling(many(3))).await;
    world.run_ends(&run).await;
    let all: Vec<(u32, u64)> = (1..=7).map(|seq| (1, seq)).collect();
    let from_the_end = |query: RecordQuery| RecordQuery { newest_first: true, ..query };
    let limited = |limit| RecordQuery { limit, ..RecordQuery::default() };
    let newest: Vec<(u32, u64)> = all.iter().rev().copied().collect();
    assert_eq!(places(&world.query(limited(99)).await), all);
    assert_eq!(Some(places(&world.query(limited(2)).await).as_slice()), all.get(..2));
    assert_eq!(places(&world.query(from_the_end(limited(99))).await), newest);
    assert_eq!(Some(places(&world.query(from_the_end(limited(4))).await).as_slice()), newest.get(..4));
    for (at, place) in all.iter().enumerate() {
        let before = RecordQuery { before: Some(*place), ..limited(2) };
        let older: Vec<_> = all.iter().take(at).rev().take(2).copied().collect();
        assert_eq!(places(&world.query(before).await), older, "before {place:?}");
        let after = RecordQuery { after: Some(*place), ..limited(2) };
        let newer: Vec<_> = all.iter().skip(at + 1).take(2).copied().collect();
        assert_eq!(places(&world.query(after).await), newer, "after {place:?}");
    }
    let none = RecordQuery { after: Some((9, 9)), ..limited(9) };
    assert_eq!(world.query(none).await, []);
    let none = RecordQuery { before: Some((1, 1)), ..limited(9) };
    assert_eq!(world.query(none).await, []);
}

async fn records_of_one_run_are_its_own(world: World) {
    let first = world.telling(&run_key(1), 2).await;
    assert_eq!(world.admit(wanted(&run_key(2), Strategy::Interrupt)).await, pudu_app::ports::Applied::Done);
    let second = world.claimed_run(&run_key(2), "agent").await;
    world.advance(&second, telling(vec![record("x"), record("y")])).await;
    let of = |ordinal| RecordQuery { ordinal: Some(ordinal), limit: 99, ..RecordQuery::default() };
    assert_eq!(places(&world.query(of(1)).await), [(1, 2), (1, 5), (1, 7)]);
    assert_eq!(places(&world.query(of(2)).await), [(2, 1), (2, 2)]);
    let newest = RecordQuery { newest_first: true, limit: 1, ..of(1) };
    assert_eq!(places(&world.query(newest).await), [(1, 7)]);
    let later = RecordQuery { after: Some((1, 5)), ..of(2) };
    assert_eq!(places(&world.query(later).await), [(2, 1), (2, 2)]);
    let earlier = RecordQuery { before: Some((2, 2)), ..of(1) };
    assert_eq!(places(&world.query(earlier).await), [(1, 7), (1, 5), (1, 2)]);
    assert_eq!(world.query(of(3)).await, []);
    assert_eq!(first.ordinal, 1);
}
