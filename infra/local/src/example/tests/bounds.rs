//! The limit of reports, the state file's care, and many submits at once.

use std::time::Duration;

use pudu_domain::Timestamp;
use serde_json::json;
use tokio::task::JoinSet;

use super::World;
use crate::example::ledger::{Entry, Ledger};
use crate::example::{Example, OpenError, Order, Report, State};

fn order(seconds: u64) -> Order {
    Order {
        title: "t".to_owned(),
        duration: Duration::from_secs(seconds),
        failure: None,
        question: None,
        poll_after_seconds: None,
        status_delay: Duration::ZERO,
    }
}

fn report(number: u8, seconds: u64) -> Report {
    Report::new([number; 16], order(seconds), Timestamp::from_millis(0))
}

#[test]
fn a_clock_set_back_shows_an_earlier_state_and_no_error() {
    let report = Report::new([0; 16], order(5), Timestamp::from_millis(10_000));
    assert_eq!(report.state(Timestamp::from_millis(0)), State::Running);
}

#[test]
fn at_the_limit_the_oldest_finished_go_and_the_unfinished_stay() {
    let now = Timestamp::from_millis(50_000);
    let mut ledger = Ledger::new(4);
    for (number, seconds) in [(0, 100), (1, 1), (2, 2), (3, 100)] {
        assert!(ledger.make_room(now));
        ledger.apply(Entry::Submitted(report(number, seconds)));
    }
    assert!(ledger.make_room(now));
    let kept: Vec<_> = ledger.reports().map(|report| report.id.clone()).collect();
    assert_eq!(kept, [0, 2, 3].map(|number| report(number, 0).id));
}

#[test]
fn with_none_finished_there_is_no_room() {
    let now = Timestamp::from_millis(0);
    let mut ledger = Ledger::new(2);
    for number in 0..2 {
        ledger.apply(Entry::Submitted(report(number, 100)));
    }
    assert!(!ledger.make_room(now));
    assert_eq!(ledger.len(), 2);
    assert!(ledger.make_room(Timestamp::from_millis(100_000)));
}

#[test]
fn a_ledger_is_the_fold_of_its_own_entries() {
    let mut ledger = Ledger::new(10);
    for number in 0..3 {
        ledger.apply(Entry::Submitted(report(number, 5)));
    }
    ledger.apply(Entry::Cancelled { id: report(1, 0).id, at: Timestamp::from_millis(2) });
    let mut again = Ledger::new(10);
    for entry in ledger.entries() {
        let line = serde_json::to_string(&entry).unwrap();
        again.apply(serde_json::from_str(&line).unwrap());
    }
    assert_eq!(again.entries(), ledger.entries());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_submits_at_once_are_each_on_disk_when_answered() {
    let world = World::new().await;
    let mut submits = JoinSet::new();
    for _ in 0..200 {
        let (example, file) = (world.example.clone(), world.file());
        submits.spawn(async move {
            let id = example.submit(order(60)).await.unwrap().id;
            let stored = std::fs::read_to_string(file).unwrap();
            assert!(stored.contains(&id), "answered before it was stored");
            id
        });
    }
    let mut ids = submits.join_all().await;
    let world = world.restart().await;
    let mut kept: Vec<_> = world.example.reports().into_iter().map(|report| report.id).collect();
    ids.sort();
    kept.sort();
    assert_eq!(kept, ids);
}

#[tokio::test]
async fn a_status_call_writes_nothing() {
    let world = World::new().await;
    let id = world.submit(json!({ "title": "t" })).await;
    let before = std::fs::metadata(world.file()).unwrap();
    world.advance(100.0);
    world.status(&id).await;
    let after = std::fs::metadata(world.file()).unwrap();
    assert_eq!((before.len(), before.modified().unwrap()), (after.len(), after.modified().unwrap()));
}

#[tokio::test]
async fn a_torn_last_line_is_dropped_and_the_file_healed() {
    let world = World::new().await;
    let id = world.submit(json!({ "title": "t" })).await;
    let file = world.file();
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, [&whole[..], b"{\"submitted\":{\"id\":\"rep"].concat()).unwrap();
    let world = world.restart().await;
    assert_eq!(world.example.reports().len(), 1);
    assert_eq!(std::fs::read(&file).unwrap(), whole);
    let second = world.submit(json!({ "title": "t" })).await;
    let world = world.restart().await;
    let ids: Vec<_> = world.example.reports().into_iter().map(|report| report.id).collect();
    assert_eq!(ids, [id, second]);
}

#[tokio::test]
async fn a_damaged_or_newer_file_is_refused_with_its_place() {
    let world = World::new().await;
    let open = |content: &str| {
        let file = world.folder.path().join("other.jsonl");
        std::fs::write(&file, content).unwrap();
        Example::open(&file, world.clock.clone(), world.random.clone()).unwrap_err()
    };
    let error = open("{\"format\":1}\nnonsense\n{}\n");
    assert!(matches!(error, OpenError::Damaged { line: 2, .. }), "{error:?}");
    let error = open("{\"format\":2}\n");
    assert!(matches!(error, OpenError::Format { found: 2, .. }), "{error:?}");
    assert!(error.to_string().contains("other.jsonl"), "{error}");
    let error = open("");
    assert!(matches!(error, OpenError::Damaged { line: 1, .. }), "{error:?}");
}

/// The journal's file is swapped for one that is always full; the repair renames a new file into the old one's place.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_submit_that_cannot_be_stored_is_an_error_and_the_next_one_repairs_the_file() {
    let world = World::new().await;
    let first = world.submit(json!({ "title": "t" })).await;
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        world.example.shared.journal.lock().await.replace_file(full);
    }
    let text = world.refused("submit_report", json!({ "title": "lost?" })).await;
    assert!(text.contains("could not be stored"), "{text}");
    let third = world.submit(json!({ "title": "t" })).await;
    let world = world.restart().await;
    let kept: Vec<_> = world.example.reports().into_iter().map(|report| report.id).collect();
    assert!(kept.contains(&first) && kept.contains(&third), "{kept:?}");
}
