mod frozen;
mod frozen_runs;
mod runs;

use proptest::prelude::*;
use pudu_app::ports::{NoteKey, StoreError};
use pudu_domain::event::Fingerprint;
use pudu_domain::note::Announced;
use pudu_domain::task::{Answer, Attention, Cancel, Delivery, Phase, Stand, State, Tracking};
use pudu_domain::text::Snippet;
use pudu_domain::{
    Due, Durable, Generation, Lane, Lease, Owner, RemoteTaskId, ServerName, ServerTag, Task, TaskId, TaskKey,
    ThreadId, ThreadKey, Timestamp, UserId,
};

use super::parts::Content;
use super::*;
use crate::key::Key;
use crate::row::{Reader, Row, attr, key_of, number, size};
use crate::schema::TTL;
use crate::strategies as any_of;

/// The stored format: a word that changes is a peer that is not known any more.
#[test]
fn eras_are_stored_as_words_and_read_back() {
    use pudu_app::ports::Era;
    let key = crate::key::Key::Peer("d".repeat(64));
    for (era, word) in [(Era::Stateless, "stateless"), (Era::Session, "session"), (Era::Events, "events")] {
        let mut row = peer::encode(&key, era, NOW);
        assert_eq!(row["era"].as_s().unwrap(), word);
        assert_eq!(peer::decode(&row, NOW).unwrap(), Some(era));
        let end = NOW + era.kept();
        assert_eq!(row[TTL], number((end.as_millis() / 1000) + 1));
        assert_eq!(peer::decode(&row, end).unwrap(), None);
        row.remove("until");
        assert_eq!(peer::decode(&row, NOW).unwrap(), None, "nobody knows how old it is");
    }
    let mut strange = peer::encode(&key, Era::Session, NOW);
    strange.insert("era".to_owned(), aws_sdk_dynamodb::types::AttributeValue::S("tomorrow".to_owned()));
    assert!(matches!(peer::decode(&strange, NOW), Err(StoreError::Corrupt { attribute: "era", .. })));
}

/// The stored format: a word that changes is a rating that nobody reads.
#[test]
fn ratings_are_stored_as_words() {
    use pudu_domain::feedback::Rating;
    let mut feedback = proptest_one(any_of::feedback());
    for (rating, word) in [(Rating::Good, "good"), (Rating::Bad, "bad")] {
        feedback.rating = rating;
        let row = feedback::encode(&feedback, NOW);
        assert_eq!(row[TTL], number(NOW.as_millis() / 1000 + 1), "it does not outlive the traces of its run");
        assert_eq!(row["rating"].as_s().unwrap(), word);
        assert_eq!(feedback::decode(&row).unwrap(), feedback);
    }
    let mut strange = feedback::encode(&feedback, NOW);
    strange.insert("rating".to_owned(), aws_sdk_dynamodb::types::AttributeValue::S("so so".to_owned()));
    assert!(matches!(feedback::decode(&strange), Err(StoreError::Corrupt { attribute: "rating", .. })));
}

const NOW: Timestamp = Timestamp::from_millis(1_793_491_200_000);

/// The keys of a row.
fn address(mut row: Row) -> Row {
    row.retain(|name, _| [attr::PK, attr::SK].contains(&name.as_str()));
    row
}

fn bytes<'a>(row: &'a Row, item: &'static str) -> &'a [u8] {
    parts::bytes(Reader::new(item, row).unwrap()).unwrap()
}

fn longest_key() -> TaskKey {
    let user = format!("a:{}", "s".repeat(124));
    TaskKey {
        thread: ThreadKey {
            user: UserId::parse(user).unwrap(),
            thread: ThreadId::parse("t".repeat(64)).unwrap(),
        },
        id: TaskId::new(NOW, [0xff; 10]),
    }
}

/// Everything at its longest: names, all four errors, a lease by the longest owner.
fn largest(errors: usize) -> Task {
    let error = |from: usize| (errors > from).then(|| Snippet::of(&"ü".repeat(100)));
    Task {
        key: longest_key(),
        server: ServerTag::of(&ServerName::parse("ü".repeat(128)).unwrap()),
        delivery: Delivery::Event,
        state: State::Active { phase: Phase::Submitted, next_poll_at: NOW },
        durable: Durable {
            due: Some(Due { lane: Lane::Corrupt, at: NOW }),
            lease: Some(Lease { owner: Owner::new(&"w".repeat(99), 1), until: NOW }),
            generation: Generation::new(1_000_000_000),
            wake: 1_000,
        },
        cancel: Some(Cancel {
            requested_at: NOW,
            until: NOW,
            attempts: 1_000_000,
            next_at: Some(NOW),
            last_error: error(2),
        }),
        answer: Some(Answer {
            question: "q".repeat(16),
            given_in: Generation::new(1_000_000_000),
            stand: Stand::Waiting { attempts: 1_000_000, last_error: error(3) },
        }),
        tracking: Tracking { last_polled_at: Some(NOW), errors: 1_000_000, last_error: error(0) },
        attention: Attention {
            version: 1_000,
            last: 1_000,
            fingerprint: Some(Fingerprint::stored("f".repeat(16))),
        },
        error: error(1),
        payload: Some("d".repeat(16)),
        created_at: NOW,
        updated_at: NOW,
    }
}

fn without_errors(mut task: Task) -> (Task, [Option<String>; 4]) {
    let text = |error: Option<Snippet>| error.map(|error| error.as_str().to_owned());
    let errors = [
        text(task.error.take()),
        text(task.tracking.last_error.take()),
        text(task.cancel.as_mut().and_then(|cancel| cancel.last_error.take())),
        text(task.answer.as_mut().and_then(|answer| match &mut answer.stand {
            Stand::Waiting { last_error, .. } => last_error.take(),
            Stand::Refused(why) => Some(std::mem::replace(why, Snippet::of(""))),
            Stand::Taken { .. } => None,
        })),
    ];
    (task, errors)
}

/// One error of 200 bytes fits whole beside the longest legal names; four at once are cut, and nothing else is lost.
#[test]
fn the_largest_hot_row_is_one_write_unit() {
    let whole = largest(1);
    assert!(size(&task::encode(&whole)) <= task::MAX_BYTES);
    assert_eq!(task::decode(&task::encode(&whole)).unwrap(), whole);
    let cut = largest(4);
    let row = task::encode(&cut);
    assert!(size(&row) <= task::MAX_BYTES, "{}", size(&row));
    let (read, errors) = without_errors(task::decode(&row).unwrap());
    assert_eq!(read, without_errors(cut).0);
    for error in errors {
        let kept = error.unwrap();
        assert!(kept.len() >= 40 && "ü".repeat(100).starts_with(&kept), "{}", kept.len());
    }
}

/// A claim writes the lease into the row as it is; it must have left the room.
#[test]
fn a_claim_does_not_push_the_row_over_a_write_unit() {
    let mut task = largest(4);
    let lease = task.durable.lease.take().unwrap();
    let mut row = task::encode(&task);
    row.insert(attr::LEASE_OWNER.into(), aws_sdk_dynamodb::types::AttributeValue::S(lease.owner.to_string()));
    row.insert(attr::LEASE_UNTIL.into(), number(lease.until.as_millis()));
    row.insert(attr::GENERATION.into(), number(task.durable.generation.next().number()));
    assert!(size(&row) <= task::MAX_BYTES, "{}", size(&row));
}

/// What was stored before there was a time for cancels.
#[test]
fn a_cancel_without_a_time_has_the_default_one() {
    let task = largest(1);
    let mut row = task::encode(&task);
    row.remove("cu");
    let until = task::decode(&row).unwrap().cancel.unwrap().until;
    assert_eq!(until, NOW + std::time::Duration::from_mins(10));
}

/// With names of ordinary length two errors of 200 bytes stay whole.
#[test]
fn an_ordinary_row_keeps_two_whole_errors() {
    let thread = ThreadKey {
        user: UserId::parse("local:default").unwrap(),
        thread: ThreadId::parse("7f6c9a52-1d8e-4f0b-9a57-0c2b6d1e8f34").unwrap(),
    };
    let task = Task {
        key: TaskKey { thread, id: TaskId::new(NOW, [0; 10]) },
        server: ServerTag::of(&ServerName::parse("reports").unwrap()),
        ..largest(2)
    };
    assert_eq!(task::decode(&task::encode(&task)).unwrap(), task);
}

#[test]
fn a_row_that_does_not_read_names_item_attribute_and_key() {
    let good = task::encode(&largest(1));
    let damages: [(&str, Option<aws_sdk_dynamodb::types::AttributeValue>); 6] = [
        ("st", Some(aws_sdk_dynamodb::types::AttributeValue::S("resting".into()))),
        ("at", None),
        ("due_at", None),
        ("due_pk", Some(aws_sdk_dynamodb::types::AttributeValue::S("poll#99".into()))),
        ("tn", Some(number(u64::MAX))),
        ("v", Some(number(2_u64))),
    ];
    for (name, value) in damages {
        let mut row = good.clone();
        match value {
            Some(value) => row.insert(name.to_owned(), value),
            None => row.remove(name),
        };
        match task::decode(&row) {
            Err(StoreError::Corrupt { item: "task", attribute, key, .. }) => {
                assert_eq!(attribute, name);
                assert!(key.contains("mcp-task-"));
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn a_row_of_another_kind_is_not_read_as_a_task() {
    let payload = payload::encode(&longest_key(), &proptest_one(any_of::payload())).unwrap();
    assert!(matches!(task::decode(&payload), Err(StoreError::Corrupt { attribute: "sk", .. })));
}

fn proptest_one<T: std::fmt::Debug>(strategy: impl Strategy<Value = T>) -> T {
    use proptest::strategy::ValueTree;
    strategy.new_tree(&mut proptest::test_runner::TestRunner::deterministic()).unwrap().current()
}

fn is_prefix(kept: Option<&String>, whole: Option<&String>) -> bool {
    match (kept, whole) {
        (None, None) => true,
        (Some(kept), Some(whole)) => whole.starts_with(kept.as_str()),
        _ => false,
    }
}

proptest! {
    #[test]
    fn a_task_reads_back(task in any_of::task()) {
        let row = task::encode(&task);
        prop_assert!(size(&row) <= task::MAX_BYTES, "{}", size(&row));
        let (read, kept) = without_errors(task::decode(&row).unwrap());
        let (wrote, whole) = without_errors(task);
        prop_assert_eq!(read, wrote);
        for (kept, whole) in kept.iter().zip(&whole) {
            prop_assert!(is_prefix(kept.as_ref(), whole.as_ref()));
        }
        if size(&row) + 100 < task::MAX_BYTES {
            prop_assert_eq!(kept, whole);
        }
    }

    #[test]
    fn a_spec_reads_back(key in any_of::task_key(), spec in any_of::spec()) {
        prop_assert_eq!(spec::decode(&spec::encode(&key, &spec).unwrap()).unwrap(), spec);
    }

    #[test]
    fn a_thread_reads_back(thread in any_of::thread()) {
        prop_assert_eq!(thread::decode(&thread::encode(&thread)).unwrap(), thread);
    }

    #[test]
    fn the_owner_of_a_callers_key_reads_back(key in any_of::task_key(), repeatable in any_of::repeatable()) {
        let read = idempotency::decode(&idempotency::encode(&key, &repeatable)).unwrap();
        prop_assert_eq!(read, (key, repeatable.request));
    }

    #[test]
    fn a_spec_names_the_rows_that_belong_to_its_task(key in any_of::task_key(), spec in any_of::spec()) {
        let named = spec::owned(&spec::encode(&key, &spec).unwrap(), &key);
        let remote = spec.remote.as_ref();
        let handle = remote.map(|remote| Key::handle(&key.thread.user, &spec.server, &spec.identity, remote));
        let repeatable = spec.repeatable.map(|repeatable| idempotency::encode(&key, &repeatable));
        let expected: Vec<Row> = handle.iter().map(key_of).chain(repeatable.map(address)).collect();
        prop_assert_eq!(named.iter().map(key_of).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_answer_reads_back(key in any_of::task_key(), input in any_of::json()) {
        prop_assert_eq!(answer::decode(&answer::encode(&key, &input).unwrap()).unwrap(), input);
    }

    #[test]
    fn a_payload_reads_back(key in any_of::task_key(), payload in any_of::payload()) {
        let read = payload::decode(&payload::encode(&key, &payload).unwrap()).unwrap();
        prop_assert_eq!(read.digest(), payload.digest());
        prop_assert_eq!(read, payload);
    }

    #[test]
    fn a_note_reads_back(note in any_of::note()) {
        prop_assert_eq!(note::decode(&note::encode(&note, None).unwrap()).unwrap(), note);
    }

    #[test]
    fn what_a_note_tells_reads_back(note in any_of::note(), event in any_of::event(), kept_until in any_of::time()) {
        let news = Announced { note, event, kept_until };
        let read = news::decode(&news::encode(&news).unwrap()).unwrap();
        prop_assert_eq!(read, (NoteKey::of(&news.note), news.event));
    }

    #[test]
    fn that_an_event_was_delivered_reads_back(
        key in any_of::note_key(),
        delivered_at in any_of::time(),
        carried in proptest::option::of(any_of::event()),
        expires in proptest::option::of(any_of::time()),
    ) {
        let marker = event::Marker { key, delivered_at, carried };
        prop_assert_eq!(event::decode(&event::encode(&marker, expires).unwrap()).unwrap(), marker);
    }

    #[test]
    fn the_owner_of_a_handle_reads_back(key in any_of::task_key(), spec in any_of::spec(), handle in "\\PC{0,99}x") {
        let row = handle::encode(&key, &spec, &RemoteTaskId::parse(handle).unwrap());
        prop_assert_eq!(handle::decode(&row).unwrap(), key);
    }

    #[test]
    fn a_revision_reads_back(revision in any_of::revision()) {
        let rows = revision::encode(&revision, "w").unwrap();
        prop_assert!(rows.parts.is_empty() && revision::is_by(&rows.head, "w") && !revision::is_by(&rows.head, "x"));
        let Content::Inline(packed) = revision::decode_head(&rows.head).unwrap().content else {
            return Err(TestCaseError::fail("a small revision is in parts"));
        };
        prop_assert_eq!(revision::decode(&rows.head, &packed).unwrap(), revision);
    }

    #[test]
    fn a_revision_in_parts_reads_back_and_misses_none(revision in any_of::revision(), part in 1_usize..40) {
        let rows = revision::encode_in(&revision, "w", part).unwrap();
        prop_assume!(!rows.parts.is_empty());
        let Content::Parts(count) = revision::decode_head(&rows.head).unwrap().content else {
            return Err(TestCaseError::fail("a large revision is not in parts"));
        };
        prop_assert_eq!(usize::from(count), rows.parts.len());
        let chunks: Vec<&[u8]> = rows.parts.iter().map(|row| bytes(row, revision::PART)).collect();
        let torn = revision::decode(&rows.head, &chunks[1..].concat());
        let found = matches!(torn, Err(StoreError::Corrupt { attribute: "digest", .. }));
        prop_assert!(found);
        prop_assert_eq!(revision::decode(&rows.head, &chunks.concat()).unwrap(), revision);
    }

    #[test]
    fn a_list_of_tools_reads_back((server, digest, listing) in any_of::catalogue()) {
        let rows = catalogue::encode(&server, &digest, &listing).unwrap();
        let Content::Inline(packed) = catalogue::decode_head(&rows.head).unwrap().content else {
            return Err(TestCaseError::fail("a small list is in parts"));
        };
        prop_assert_eq!(catalogue::decode(&rows.head, &packed).unwrap(), listing);
    }

    #[test]
    fn a_list_of_tools_in_parts_reads_back_and_ends_as_one(
        (server, digest, listing) in any_of::catalogue(),
        part in 1_usize..40,
    ) {
        let rows = catalogue::encode_in(&server, &digest, &listing, part).unwrap();
        prop_assume!(!rows.parts.is_empty());
        let chunks: Vec<&[u8]> = rows.parts.iter().map(|row| bytes(row, catalogue::PART)).collect();
        prop_assert!(catalogue::decode(&rows.head, &chunks[1..].concat()).is_err());
        prop_assert_eq!(catalogue::decode(&rows.head, &chunks.concat()).unwrap(), listing);
        prop_assert!(rows.parts.iter().all(|row| row[TTL] == rows.head[TTL]));
    }

    #[test]
    fn a_token_reads_back(key in any_of::token_key(), token in any_of::token()) {
        prop_assert_eq!(token::decode(&token::encode(&key, &token)).unwrap(), token);
    }

    #[test]
    fn a_record_of_a_change_reads_back_and_ends(record in any_of::audit_record()) {
        let row = audit::encode(&record);
        prop_assert_eq!(&row[TTL], &number(crate::row::end_of(record.at + pudu_app::ports::AUDIT_KEPT)));
        prop_assert_eq!(audit::decode(&row).unwrap(), record);
    }

    #[test]
    fn an_api_key_reads_back(key in any_of::api_key()) {
        prop_assert_eq!(api_key::decode(&api_key::encode(&key)).unwrap(), key);
    }

    #[test]
    fn feedback_reads_back(given in any_of::feedback()) {
        prop_assert_eq!(feedback::decode(&feedback::encode(&given, NOW)).unwrap(), given);
    }

    #[test]
    fn a_pointer_reads_back(number in any::<u64>()) {
        prop_assert_eq!(revision::decode_pointer(&revision::pointer(number)).unwrap(), number);
    }

    #[test]
    fn a_wrapped_key_reads_back(wrapped in any::<Vec<u8>>()) {
        prop_assert_eq!(wrapped_key::decode(&wrapped_key::encode(wrapped.clone())).unwrap(), wrapped);
    }
}
