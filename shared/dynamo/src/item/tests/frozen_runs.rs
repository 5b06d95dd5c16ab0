//! Rows of runs and of what stands around them, as this program writes them, letter by letter: `frozen_runs.txt` has one per
//! line. A row of today that is not in it is a change of the stored format: the new row gets a line of its own, and the old line
//! stays, because the row must read for ever.

mod beside;

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use pudu_domain::breaker::{Breaker, Entry, Outcome as OfCall, Terms};
use pudu_domain::bucket::Bucket;
use pudu_domain::chat::{Message, Speaker, ToolCall, ToolStatus, Usage};
use pudu_domain::conversation::{Head, Status};
use pudu_domain::run::{
    Body, Checkpoint, End, Notice, Origin, Outcome, Phase, RunSpec, Source, StopReason, Strategy, Subagent,
    Told, Totals,
};
use pudu_domain::state::{BackgroundTask, State, Todo, TodoStatus, Write};
use pudu_domain::{Conversation, IdempotencyKey, Run, RunId, RunKey, Scope};
use serde_json::{Map, Value, json};

use super::*;

const FROZEN: &str = include_str!("frozen_runs.txt");

fn key(n: u8) -> RunKey {
    let user = UserId::parse("local:default").unwrap();
    RunKey {
        thread: ThreadKey { user, thread: ThreadId::parse("t-1").unwrap() },
        id: RunId::new(NOW, [n; 10]),
    }
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

/// A run at work.
fn at_work() -> Run {
    let tokens = Usage { input_tokens: 30, output_tokens: 12, total_tokens: 42 };
    Run {
        key: key(1),
        origin: Origin::Lead,
        ordinal: 3,
        phase: Phase::Running,
        durable: Durable {
            due: Some(Due { lane: Lane::Run, at: NOW }),
            lease: Some(Lease { owner: Owner::new("agent", 7), until: NOW + Duration::from_secs(120) }),
            generation: Generation::new(2),
            wake: 5,
        },
        checkpoints: 4,
        told: 17,
        children: 1,
        progressed: Generation::new(2),
        until: None,
        totals: Totals {
            calls: 2,
            tokens,
            lead: 40,
            subagent: 2,
            by_model: [("main".to_owned(), tokens)].into(),
            messages: 3,
            ..Totals::default()
        },
        created_at: NOW,
        updated_at: NOW + Duration::from_secs(9),
    }
}

fn parked() -> Run {
    let durable = Durable { lease: None, ..at_work().durable };
    Run { phase: Phase::Parked { open: [key(2).id].into() }, durable, ..at_work() }
}

/// A child that failed.
fn ended() -> Run {
    let end = End {
        outcome: Outcome::Error,
        stop_reason: Some(StopReason::TurnCapped),
        error: Some(Snippet::of("Reached max_turns=5")),
        at: NOW + Duration::from_secs(10),
    };
    let durable = Durable { due: None, lease: None, ..at_work().durable };
    Run {
        key: key(2),
        origin: Origin::Child { parent: key(1).id, call: "call_1".to_owned() },
        phase: Phase::Ended(end),
        durable,
        until: Some(NOW + Duration::from_secs(900)),
        ..at_work()
    }
}

fn asked() -> Message {
    Message::new(Speaker::Human, "m-1", "how many deer?")
}

fn spec() -> RunSpec {
    RunSpec {
        input: vec![asked()],
        options: object(&json!({"is_plan_mode": true})),
        metadata: object(&json!({"source": "a test"})),
        kwargs: object(&json!({"stream_mode": ["values"]})),
        strategy: Strategy::Enqueue,
        scope: Scope::Only(["example".to_owned()].into()),
        base: Some(Head { run: key(3).id, number: 2 }),
        subagent: Some(Subagent {
            name: "general-purpose".to_owned(),
            description: "count deer".to_owned(),
            max_turns: 150,
            token_budget: 2_000_000,
            instructions: "You count.".to_owned(),
            tools: Some(vec!["example_echo".to_owned()]),
            without: vec!["task".to_owned()],
        }),
        secrets: true,
        key: Some("ab".repeat(32)),
        ..RunSpec::of("lead_agent")
    }
}

/// A state with something in each channel that a run of today writes.
fn state() -> State {
    let call = ToolCall::new("c-1", "example_echo", object(&json!({"text": "deer"})));
    let answer = Message { tool_calls: vec![call.clone()], ..Message::new(Speaker::Ai, "m-2", "I look.") };
    let mut state = State::default();
    state.apply_all(writes()).unwrap();
    state
        .apply_all([asked(), answer, Message::tool(&call, ToolStatus::Success, "deer")].map(Write::message))
        .unwrap();
    state
}

fn writes() -> Vec<Write> {
    let todo = Todo { active_form: Some("counting".into()), ..Todo::new("count", TodoStatus::InProgress) };
    let task = BackgroundTask {
        task_id: "mcp-task-1".into(),
        task_name: "report".into(),
        status: "working".into(),
        updated_at: "2026-11-30T00:00:00Z".into(),
    };
    vec![
        Write::Title("Deer".to_owned()),
        Write::Todos(Some(vec![todo])),
        Write::Artifacts(vec!["/mnt/user-data/outputs/a.md".to_owned()]),
        Write::BackgroundTasks(vec![task]),
        Write::Summary(Some("They count deer.".to_owned())),
        Write::Counters { name: "loop_detection".to_owned(), value: json!({"turns": ["0123456789ab"]}) },
    ]
}

fn checkpoint(number: u32, body: Body) -> Checkpoint {
    let parent = (number == 0).then(|| Head { run: key(3).id, number: 2 });
    Checkpoint { run: key(1), number, at: NOW, source: Source::Loop, parent, body }
}

fn conversation() -> Conversation {
    let metadata = object(&json!({"graph": "deer"}));
    Conversation {
        thread: key(1).thread,
        revision: 6,
        active: Some(key(1).id),
        queue: vec![key(4).id],
        head: Some(Head { run: key(3).id, number: 2 }),
        runs: 3,
        status: Status::Busy,
        stood: None,
        title: Some("Deer".to_owned()),
        metadata,
        assistant: Some("lead_agent".to_owned()),
        scope: Scope::Only(["example".to_owned()].into()),
        to_remember: 0,
        remembered: 0,
        created_at: NOW,
        updated_at: NOW + Duration::from_secs(9),
    }
}

/// One whose active run answers nobody.
fn compacted() -> Conversation {
    Conversation { stood: Some(Status::Error), ..conversation() }
}

fn told() -> Vec<Told> {
    let frame =
        Notice::Frame { event: "custom".to_owned(), data: json!({"type": "task_started", "task_id": "c-1"}) };
    let record = Notice::Record {
        event_type: "llm.ai.response".to_owned(),
        category: "message".to_owned(),
        content: json!({"content": "deer"}),
        metadata: json!({"model_name": "main"}),
    };
    let notices = [frame, Notice::Values { number: 4, behind: None }, record];
    let told = |(seq, notice)| Told { run: key(1), ordinal: 3, seq, at: NOW, notice };
    (18..).zip(notices).map(told).collect()
}

fn breaker() -> Breaker {
    let failed = (1..=3).fold(Breaker::default(), |it, call| it.leave(call, OfCall::Failed, NOW).unwrap());
    match failed.enter(Terms { at_once: Some(2), longest: Duration::from_secs(600) }, 9, NOW) {
        Entry::Take(taken) => taken,
        other => panic!("{other:?}"),
    }
}

/// Every row of today by its name.
fn today() -> Vec<(&'static str, Row)> {
    let until = NOW + Duration::from_secs(86_400);
    let mut rows = vec![
        ("run at work", run::encode(&at_work()).unwrap()),
        ("run parked", run::encode(&parked()).unwrap()),
        ("child ended", run::encode(&ended()).unwrap()),
        ("spec", run_spec::encode(&key(1), &spec()).unwrap()),
        ("plain spec", run_spec::encode(&key(1), &RunSpec::of("lead_agent")).unwrap()),
        (
            "key",
            run_keyed::encode(&key(1), &IdempotencyKey::parse("once".to_owned()).unwrap(), "00ff", until),
        ),
        ("secrets", secret::encode(&key(1), "sealed:v1:00", NOW)),
        ("snapshot", checkpoint::encode(&checkpoint(0, Body::Snapshot(Box::new(state())))).unwrap()),
        ("delta", checkpoint::encode(&checkpoint(1, Body::Delta(writes()))).unwrap()),
        (
            "blob",
            checkpoint::encode(&checkpoint(2, Body::Blob { digest: "cd".repeat(32), snapshot: false }))
                .unwrap(),
        ),
        ("conversation", conversation::encode(&conversation()).unwrap()),
        ("compacted conversation", conversation::encode(&compacted()).unwrap()),
        ("breaker", breaker::encode(&Key::Breaker("main".to_owned()), &breaker(), NOW)),
        ("bucket", bucket::encode(&Key::Bucket(key(1).thread.user), Bucket::full_at(1_793_491_200_000_123))),
    ];
    for (item, row) in telling::encode(&told(), until).unwrap() {
        rows.push((if item == telling::FRAMES { "frames" } else { "records" }, row));
    }
    rows.extend(beside::today(until));
    rows
}

/// A row as the tools of the cloud show it, its attributes in the order of their names.
fn shown(row: &Row) -> String {
    let attributes = row.iter().map(|(name, value)| {
        let value = match value {
            AttributeValue::S(text) => json!({ "S": text }),
            AttributeValue::N(number) => json!({ "N": number }),
            AttributeValue::Bool(flag) => json!({ "BOOL": flag }),
            other => panic!("{other:?}"),
        };
        (name.clone(), value)
    });
    json!(attributes.collect::<std::collections::BTreeMap<_, _>>()).to_string()
}

fn read(text: &str) -> Row {
    let attributes: Map<String, Value> = serde_json::from_str(text).unwrap();
    let attributes = attributes.into_iter().map(|(name, value)| {
        let text = |kind: &str| value.get(kind).and_then(Value::as_str).map(str::to_owned);
        let value = match (text("S"), text("N"), value.get("BOOL").and_then(Value::as_bool)) {
            (Some(text), ..) => AttributeValue::S(text),
            (_, Some(number), _) => AttributeValue::N(number),
            (.., Some(flag)) => AttributeValue::Bool(flag),
            _ => panic!("{name}"),
        };
        (name, value)
    });
    attributes.collect()
}

/// The rows of that name, the oldest first.
fn frozen(name: &str) -> Vec<Row> {
    let lines = FROZEN.lines().filter_map(|line| line.split_once('\t'));
    lines.filter(|(named, _)| *named == name).map(|(_, row)| read(row)).collect()
}

#[test]
fn the_rows_of_runs_are_those_that_were_written_before() {
    let changed = today().into_iter().filter(|(name, row)| frozen(name).last() != Some(row));
    let changed: Vec<String> = changed.map(|(name, row)| format!("{name}\t{}", shown(&row))).collect();
    let lines = changed.join("\n");
    assert!(changed.is_empty(), "the stored format has changed; see the head of this file.\n{lines}");
}

/// That every row of that name reads as this.
fn reads<T: PartialEq + std::fmt::Debug>(name: &str, decode: fn(&Row) -> Result<T, StoreError>, wanted: &T) {
    let rows = frozen(name);
    assert!(!rows.is_empty(), "{name}");
    for row in rows {
        assert_eq!(decode(&row).unwrap(), *wanted, "{name}");
    }
}

#[test]
fn every_row_of_a_run_that_was_ever_written_reads() {
    for (name, wanted) in [("run at work", at_work()), ("run parked", parked()), ("child ended", ended())] {
        reads(name, run::decode, &wanted);
    }
    reads("spec", run_spec::decode, &spec());
    reads("plain spec", run_spec::decode, &RunSpec::of("lead_agent"));
    reads("key", run_keyed::decode, &(key(1), "00ff".to_owned()));
    reads("secrets", secret::decode, &"sealed:v1:00".to_owned());
    reads("snapshot", checkpoint::decode, &checkpoint(0, Body::Snapshot(Box::new(state()))));
    reads("delta", checkpoint::decode, &checkpoint(1, Body::Delta(writes())));
    let blob = Body::Blob { digest: "cd".repeat(32), snapshot: false };
    reads("blob", checkpoint::decode, &checkpoint(2, blob));
    reads("conversation", conversation::decode, &conversation());
    reads("compacted conversation", conversation::decode, &compacted());
    reads("breaker", breaker::decode, &breaker());
    reads("bucket", bucket::decode, &Bucket::full_at(1_793_491_200_000_123));
    let frames =
        |row: &Row| telling::decode_frames(row).map(|frames| (frames.first, frames.last, frames.told));
    reads("frames", frames, &(18, 20, told()[..2].to_vec()));
    reads("records", telling::decode_records, &told()[2..].to_vec());
}

/// The longest legal names, and a claim on top.
fn largest() -> Run {
    let thread = longest_key().thread;
    let id = RunId::new(NOW, [0xff; 10]);
    let most = Usage {
        input_tokens: u64::from(u32::MAX),
        output_tokens: u64::from(u32::MAX),
        total_tokens: u64::MAX / 2,
    };
    Run {
        key: RunKey { thread, id: id.clone() },
        origin: Origin::Child { parent: id, call: "c".repeat(64) },
        ordinal: u32::MAX,
        checkpoints: u32::MAX,
        told: 1_000_000_000,
        children: 50,
        until: Some(NOW),
        totals: Totals { tokens: most, by_model: [("main".to_owned(), most)].into(), ..at_work().totals },
        durable: Durable {
            due: Some(Due { lane: Lane::Run, at: NOW }),
            lease: Some(Lease { owner: Owner::new(&"w".repeat(99), 1), until: NOW }),
            generation: Generation::new(1_000_000_000),
            wake: 1_000_000,
        },
        ..at_work()
    }
}

/// A run's hot row is written with every step.
#[test]
fn the_hot_row_of_a_run_with_the_longest_names_is_one_write_unit() {
    let row = run::encode(&largest()).unwrap();
    assert!(size(&row) <= 1024, "{}", size(&row));
}
