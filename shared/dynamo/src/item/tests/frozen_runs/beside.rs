//! What came to be stored after the first of these rows: looks back, compactions, feedback, and more in a step.

use pudu_domain::feedback::{Feedback, Rating};
use pudu_domain::run::{Compaction, Keep, Operation};

use super::*;

/// A run beside the conversation that waits for its time.
fn look_back() -> Run {
    let due = Some(Due { lane: Lane::Run, at: NOW + Duration::from_secs(30) });
    Run {
        key: key(5),
        origin: Origin::Aside,
        phase: Phase::Pending,
        durable: Durable { due, ..Durable::default() },
        checkpoints: 0,
        told: 0,
        children: 0,
        progressed: Generation::default(),
        until: Some(NOW + Duration::from_secs(3630)),
        totals: Totals::default(),
        ..at_work()
    }
}

/// One of whose runs a part was looked back at.
fn looked_back_at() -> Conversation {
    Conversation { to_remember: 3, remembered: 2, ..conversation() }
}

fn compact() -> RunSpec {
    let compaction = Compaction { force: true, keep: Some(Keep::Messages(10)) };
    RunSpec { operation: Operation::Compact(compaction), ..RunSpec::of("lead_agent") }
}

fn remember() -> RunSpec {
    RunSpec { operation: Operation::Remember, ..RunSpec::of("lead_agent") }
}

/// A step that writes what no step of [`super::writes`] does.
fn more() -> Vec<Write> {
    let call = ToolCall {
        extra_content: Some(json!({"google": {"thought_signature": "c2ln"}})),
        ..ToolCall::new("c-2", "example_echo", Map::new())
    };
    let answer = Message { tool_calls: vec![call], ..Message::new(Speaker::Ai, "m-4", "I look again.") };
    let task = BackgroundTask {
        task_id: "mcp-task-2".into(),
        task_name: "report".into(),
        status: "completed".into(),
        updated_at: "2026-11-30T00:00:01Z".into(),
    };
    let todo = Todo { id: Some("todo-1".to_owned()), ..Todo::new("count", TodoStatus::Completed) };
    vec![
        Write::message(answer),
        Write::Todos(Some(vec![todo])),
        Write::BackgroundTask(task),
        Write::Goal(Some(json!({"objective": "all deer are counted", "status": "active"}))),
        Write::ForgetGoal,
    ]
}

fn values() -> Vec<Told> {
    let notice = Notice::Values { number: 5, behind: Some(4) };
    vec![Told { run: key(1), ordinal: 3, seq: 21, at: NOW, notice }]
}

fn good() -> Feedback {
    let (comment, message) = (Some("all of them".to_owned()), Some("m-2".to_owned()));
    Feedback { run: key(1), rating: Rating::Good, comment, message, at: NOW }
}

fn bad() -> Feedback {
    Feedback { rating: Rating::Bad, comment: None, message: None, ..good() }
}

/// Every such row of today by its name.
pub(super) fn today(until: Timestamp) -> Vec<(&'static str, Row)> {
    let mut rows = vec![
        ("look back", run::encode(&look_back()).unwrap()),
        ("looked back at", conversation::encode(&looked_back_at()).unwrap()),
        ("spec of a compaction", run_spec::encode(&key(1), &compact()).unwrap()),
        ("spec of a look back", run_spec::encode(&key(5), &remember()).unwrap()),
        ("more of a delta", checkpoint::encode(&checkpoint(3, Body::Delta(more()))).unwrap()),
        ("good", feedback::encode(&good(), until)),
        ("bad", feedback::encode(&bad(), until)),
    ];
    rows.extend(telling::encode(&values(), until).unwrap().into_iter().map(|(_, row)| ("values", row)));
    rows
}

#[test]
fn every_row_beside_them_that_was_ever_written_reads() {
    reads("look back", run::decode, &look_back());
    reads("looked back at", conversation::decode, &looked_back_at());
    reads("spec of a compaction", run_spec::decode, &compact());
    reads("spec of a look back", run_spec::decode, &remember());
    reads("more of a delta", checkpoint::decode, &checkpoint(3, Body::Delta(more())));
    reads("good", feedback::decode, &good());
    reads("bad", feedback::decode, &bad());
    reads("values", |row| telling::decode_frames(row).map(|frames| frames.told), &values());
}
