use proptest::prelude::*;
use pudu_domain::{AgentName, ThreadId};

use super::*;
use crate::strategies::{key, task_id};

fn thread() -> ThreadKey {
    ThreadKey { user: UserId::parse("local:default").unwrap(), thread: ThreadId::parse("t-1").unwrap() }
}

fn task() -> TaskKey {
    TaskKey { thread: thread(), id: TaskId::parse(format!("mcp-task-{}", "0a".repeat(16))).unwrap() }
}

/// The stored format, spelled out: a change here needs a migration.
#[test]
fn the_keys_are_those_of_the_table_in_the_design() {
    let (task, id) = (task(), "mcp-task-0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a");
    let note = NoteKey { task: task.clone(), version: 7 };
    let pk = "thread#local%3Adefault#t-1";
    let remote = RemoteTaskId::parse("r").unwrap();
    let handle = Key::handle(&thread().user, &ServerName::parse("a b").unwrap(), "http x", &remote);
    let sha = "454349e422f05297191ead13e21d3db520e5abef52055e4964b82fb213f593a1";
    let digest = "d".repeat(64);
    let uuid = "00000000-0005-7fff-8fff-ffffffffffff";
    let run = RunKey { thread: thread(), id: RunId::parse(uuid).unwrap() };
    let cases = [
        (Key::Task(task.clone()), pk.to_owned(), format!("task#{id}")),
        (Key::Spec(task.clone()), pk.to_owned(), format!("task#{id}#spec")),
        (Key::Payload(task.clone()), pk.to_owned(), format!("result#{id}")),
        (Key::Answer(task.clone()), pk.to_owned(), format!("answer#{id}")),
        (Key::Note(note.clone()), pk.to_owned(), format!("note#{id}#0000000007")),
        (Key::Body(note.clone()), pk.to_owned(), format!("body#{id}#0000000007")),
        (Key::Event(note), pk.to_owned(), format!("event#{id}#0000000007")),
        (Key::Notified(task), pk.to_owned(), format!("notified#{id}")),
        (Key::Thread(thread()), pk.to_owned(), "thread".to_owned()),
        (handle, format!("remote#local%3Adefault#a%20b#http%20x#{sha}"), "-".to_owned()),
        (
            Key::Idempotency { thread: thread(), digest: digest.clone() },
            format!("idem#local%3Adefault#t-1#{digest}"),
            "-".to_owned(),
        ),
        (Key::Run(run.clone()), pk.to_owned(), format!("run#{uuid}")),
        (Key::RunSpec(run.clone()), pk.to_owned(), format!("run#{uuid}#spec")),
        (Key::Secret(run.clone()), pk.to_owned(), format!("secret#{uuid}")),
        (Key::Feedback(run.clone()), pk.to_owned(), format!("feedback#{uuid}")),
        (Key::Checkpoint(run.clone(), 7), pk.to_owned(), format!("ckpt#{uuid}#00000007")),
        (Key::Frames(run, 7), pk.to_owned(), format!("frame#{uuid}#0000000007")),
        (
            Key::Record { thread: thread(), ordinal: 2, seq: 7 },
            pk.to_owned(),
            "rec#00000002#0000000007".to_owned(),
        ),
        (Key::Conversation(thread()), pk.to_owned(), "conversation".to_owned()),
        (
            Key::RunKeyed { user: thread().user, digest: digest.clone() },
            format!("runkey#local%3Adefault#{digest}"),
            "-".to_owned(),
        ),
        (
            Key::Listed { thread: thread(), made: Timestamp::from_millis(1_700_000_000_000) },
            "threads#local%3Adefault".to_owned(),
            "0001700000000000#t-1".to_owned(),
        ),
        (Key::Bucket(thread().user), "rate#local%3Adefault".to_owned(), "-".to_owned()),
        (Key::Breaker("gpt 5".to_owned()), "model#gpt%205".to_owned(), "-".to_owned()),
        (Key::Peer(digest.clone()), format!("peer#{digest}"), "-".to_owned()),
        (
            Key::ApiKey(KeyId::parse("a0".repeat(6)).unwrap()),
            "keys".to_owned(),
            "key#a0a0a0a0a0a0".to_owned(),
        ),
        (Key::Audit("0a".repeat(16)), "audit".to_owned(), "0a".repeat(16)),
        (
            Key::Memory(MemoryKey { user: thread().user, agent: None }),
            "memory#local%3Adefault".to_owned(),
            "#".to_owned(),
        ),
        (
            Key::Memory(MemoryKey { user: thread().user, agent: AgentName::parse("a-1").ok() }),
            "memory#local%3Adefault".to_owned(),
            "a-1".to_owned(),
        ),
        (Key::Pointer, "config".to_owned(), "current".to_owned()),
        (Key::WrappedKey, "config".to_owned(), "seal".to_owned()),
        (Key::Revision(3), "config".to_owned(), "rev#00000000000000000003".to_owned()),
        (
            Key::RevisionPart { number: 3, digest: digest.clone(), part: 2 },
            "config".to_owned(),
            format!("rev#00000000000000000003#{digest}#0002"),
        ),
        (
            Key::token(&TokenKey { server: "a b".to_owned(), identity: "0f".to_owned() }),
            "token#server#a%20b#0f".to_owned(),
            "-".to_owned(),
        ),
        (Key::catalogue("a b", "0f"), "catalog#a%20b".to_owned(), "0f".to_owned()),
        (
            Key::catalogue_part("a b", "0f", &digest, 2),
            "catalog#a%20b".to_owned(),
            format!("0f#{}#0002", "d".repeat(32)),
        ),
    ];
    for (key, pk, sk) in cases {
        assert_eq!((key.pk(), key.sk()), (pk, sk));
    }
}

#[test]
fn another_spelling_of_a_key_is_no_key() {
    let id = "mcp-task-0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a";
    let good = ("thread#local%3Adefault#t-1", format!("note#{id}#0000000007"));
    assert!(Key::parse(good.0, &good.1).is_some());
    for (pk, sk) in [
        ("thread#local%3adefault#t-1", good.1.as_str()),
        ("thread#local:default#t-1", good.1.as_str()),
        ("thread#local%3Adefault", good.1.as_str()),
        (good.0, &format!("note#{id}#7")),
        (good.0, &format!("note#{id}#+000000007")),
        (good.0, &format!("note#{id}#0000000007#x")),
        (good.0, "note"),
        (good.0, "-"),
        ("config", "thread"),
        ("catalog#a", "0f#d#2"),
        ("catalog#a", "0f#d#0002#x"),
        ("", ""),
    ] {
        assert_eq!(Key::parse(pk, sk), None, "{pk} {sk}");
    }
}

/// A constant of the stored format: rows would be looked for in the wrong shard.
#[test]
fn a_task_and_a_run_stay_in_their_shards() {
    let shards: Vec<u8> =
        (0..4_u8).map(|n| shard_of(&TaskId::new(Timestamp::from_millis(0), [n; 10]))).collect();
    assert_eq!(shards, [4, 9, 8, 3]);
    let runs: Vec<u8> =
        (0..4_u8).map(|n| shard_of_run(&RunId::new(Timestamp::from_millis(0), [n; 10]))).collect();
    assert_eq!(runs, [14, 7, 8, 11]);
}

#[test]
fn tasks_and_specs_sort_between_the_bounds_of_a_list() {
    for key in [Key::Task(task()), Key::Spec(task())] {
        assert!(key.sk().as_str() >= TASKS && key.sk().as_str() < AFTER_TASKS);
    }
    for key in [Key::Thread(thread()), Key::Payload(task()), Key::Notified(task())] {
        assert!((key.sk().as_str() < TASKS) || (key.sk().as_str() > AFTER_TASKS));
    }
}

#[test]
fn index_partitions_read_back() {
    for lane in Lane::ALL {
        for shard in 0..SHARDS {
            assert_eq!(parse_due_pk(&due_pk(lane, shard)), Some((lane, shard)));
        }
    }
    for bad in ["poll#16", "poll#7", "poll#007", "poll", "pole#07", "poll#+7"] {
        assert_eq!(parse_due_pk(bad), None, "{bad}");
    }
}

proptest! {
    #[test]
    fn every_key_reads_back(key in key()) {
        prop_assert_eq!(Key::parse(&key.pk(), &key.sk()), Some(key));
    }

    #[test]
    fn different_keys_are_different_rows(a in key(), b in key()) {
        prop_assert_eq!(a == b, (a.pk(), a.sk()) == (b.pk(), b.sk()));
    }

    /// DynamoDB's limits are 2048 and 1024 bytes.
    #[test]
    fn keys_are_bounded(key in key()) {
        prop_assert!(key.pk().len() <= 500 && key.sk().len() <= 128);
    }

    #[test]
    fn shards_are_within_their_number(id in task_id()) {
        prop_assert!(shard_of(&id) < SHARDS);
    }
}
