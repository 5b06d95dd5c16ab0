//! The rows of runs.

use pudu_domain::run::{Notice, Told};
use pudu_domain::{IdempotencyKey, RunId, RunKey};
use serde_json::json;

use super::*;

fn run_key() -> RunKey {
    RunKey { thread: longest_key().thread, id: RunId::new(NOW, [0xff; 10]) }
}

fn told(seq: u64, notice: Notice) -> Told {
    Told { run: run_key(), ordinal: 1, seq, at: NOW, notice }
}

fn frame(bytes: usize) -> Notice {
    Notice::Frame { event: "messages-tuple".to_owned(), data: json!(any_of::noise(bytes)) }
}

/// What does not fit one row is in several, which leave no number out.
#[test]
fn large_frames_are_in_rows_that_follow_each_other() {
    let record = Notice::Record {
        event_type: "run.end".to_owned(),
        category: "trace".to_owned(),
        content: json!(null),
        metadata: json!(null),
    };
    let all = [
        told(3, record.clone()),
        told(4, frame(200 * 1024)),
        told(5, frame(200 * 1024)),
        told(6, record.clone()),
        told(7, frame(10)),
        told(8, record),
    ];
    let rows = telling::encode(&all, NOW).unwrap();
    let (frames, records): (Vec<_>, Vec<_>) = rows.iter().partition(|(item, _)| *item == telling::FRAMES);
    assert!(rows.iter().all(|(_, row)| size(row) <= crate::row::MAX_ROW_BYTES));
    let frames: Vec<_> = frames.iter().map(|(_, row)| telling::decode_frames(row).unwrap()).collect();
    let places: Vec<(u64, u64)> = frames.iter().map(|row| (row.first, row.last)).collect();
    assert_eq!(places, [(3, 4), (5, 8)]);
    let numbers: Vec<u64> = frames.iter().flat_map(|row| &row.told).map(|told| told.seq).collect();
    assert_eq!(numbers, [4, 5, 7]);
    assert_eq!(records.len(), 1);
    let numbers: Vec<u64> =
        telling::decode_records(&records[0].1).unwrap().iter().map(|told| told.seq).collect();
    assert_eq!(numbers, [3, 6, 8]);
}

#[test]
fn what_cannot_be_packed_small_enough_is_refused_by_name() {
    let refused = telling::encode(&[told(1, frame(600 * 1024))], NOW).unwrap_err();
    assert!(refused.to_string().contains(telling::FRAMES), "{refused}");
}

#[test]
fn nothing_told_is_no_row() {
    assert_eq!(telling::encode(&[], NOW).unwrap(), []);
}

/// Secrets are gone a day after they came, whatever becomes of their run.
#[test]
fn secrets_have_their_end_from_the_beginning() {
    let row = secret::encode(&run_key(), "sealed:v1:00", NOW);
    assert_eq!(row[TTL], number((NOW.as_millis() / 1000) + 86_400 + 1));
    assert_eq!(secret::decode(&row).unwrap(), "sealed:v1:00");
}

proptest! {
    #[test]
    fn a_run_reads_back(run in any_of::run()) {
        prop_assert_eq!(super::super::run::decode(&super::super::run::encode(&run).unwrap()).unwrap(), run);
    }

    #[test]
    fn a_spec_of_a_run_reads_back_and_names_its_key(key in any_of::run_key(), spec in any_of::run_spec()) {
        let row = run_spec::encode(&key, &spec).unwrap();
        let named = spec.key.clone().map(|digest| Key::RunKeyed { user: key.thread.user.clone(), digest });
        prop_assert_eq!(run_spec::owned(&row, &key), named);
        prop_assert_eq!(run_spec::decode(&row).unwrap(), spec);
    }

    #[test]
    fn a_key_of_a_run_reads_back(key in any_of::run_key(), text in "[!-~]{1,40}", request in "[0-9a-f]{64}") {
        let row = run_keyed::encode(&key, &IdempotencyKey::parse(text).unwrap(), &request, NOW);
        prop_assert_eq!(run_keyed::decode(&row).unwrap(), (key, request));
    }

    #[test]
    fn a_checkpoint_reads_back(new in any_of::checkpoint()) {
        prop_assert_eq!(checkpoint::decode(&checkpoint::encode(&new).unwrap()).unwrap(), new);
    }

    #[test]
    fn a_conversation_reads_back_and_names_its_place(talk in any_of::conversation()) {
        let row = conversation::encode(&talk).unwrap();
        let place = Key::Listed { thread: talk.thread.clone(), made: talk.created_at };
        prop_assert_eq!(conversation::listed(&row, &talk.thread), Some(place));
        prop_assert_eq!(conversation::decode(&row).unwrap(), talk);
    }

    #[test]
    fn what_is_told_reads_back(all in any_of::told(), until in any_of::time()) {
        let rows = telling::encode(&all, until).unwrap();
        let (mut read, mut next) = (Vec::new(), all[0].seq);
        for (item, row) in &rows {
            if *item == telling::FRAMES {
                let frames = telling::decode_frames(row).unwrap();
                prop_assert_eq!(frames.first, next);
                next = frames.last + 1;
                read.extend(frames.told);
            } else {
                read.extend(telling::decode_records(row).unwrap());
            }
        }
        prop_assert_eq!(next, all[all.len() - 1].seq + 1);
        read.sort_by_key(|told| told.seq);
        prop_assert_eq!(read, all);
    }
}
