use pudu_domain::chat::{Message, ToolCall, ToolStatus, Usage};
use pudu_domain::run::{End, Notice, Origin, Outcome, Phase, StopReason, Totals};
use pudu_domain::state::{DelegationStatus, State};
use pudu_domain::text::Snippet;
use pudu_domain::{Run, RunId};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::super::contract::{Contract, Status};
use super::super::*;
use crate::fixture::{NOW, World, ai, call, said};

fn content(status: Status, reason: Option<StopReason>, text: &str) -> String {
    Contract::new(status, reason, text.to_owned()).content()
}

fn task() -> ToolCall {
    call("c", TASK, &json!({"prompt": "Find it.", "subagent_type": "general-purpose", "max_turns": 7}))
}

/// What a parent is told of a child that ended like this.
fn told(
    outcome: Outcome,
    stop_reason: Option<StopReason>,
    error: Option<&str>,
    state: &State,
) -> (Message, crate::turn::Outcome) {
    let end = End { outcome, stop_reason, error: error.map(Snippet::of), at: NOW };
    answered(Phase::Ended(end), state)
}

fn answered(phase: Phase, state: &State) -> (Message, crate::turn::Outcome) {
    let world = World::new(&json!({"model_name": "big"}));
    let mut turn = world.turn(State::default());
    let child = begin(&mut turn, &[task()]).children.remove(0);
    let tokens = Usage { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
    let totals =
        Totals { calls: 3, tokens, by_model: [("big".to_owned(), tokens)].into(), ..Totals::default() };
    let run = Run { phase, totals, ..world.run.clone() };
    let message = result(&mut turn, &task(), &Ended { run: &run, spec: &child.spec, state });
    (message, turn.finish())
}

#[test]
fn vector_29_a_result_is_told() {
    assert_eq!(content(Status::Completed, None, "X"), "Task Succeeded. Result: X");
    let capped = content(Status::Completed, Some(StopReason::TokenCapped), "X");
    assert_eq!(capped, "Task Succeeded (capped: token budget). Result: X");
    let capped = content(Status::Completed, Some(StopReason::LoopCapped), "X");
    assert_eq!(capped, "Task Succeeded (capped: repeated tool-call loop). Result: X");
}

#[test]
fn vector_31_a_failure_is_told_with_what_was_used_up() {
    let text = content(Status::Failed, Some(StopReason::TurnCapped), "boom");
    assert_eq!(text, "Task failed (capped: turn budget). Error: boom");
    assert_eq!(content(Status::Failed, Some(StopReason::SafetyCapped), "boom"), "Task failed. Error: boom");
}

#[test]
fn vector_32_a_cancel_is_told_with_its_reason_if_there_is_one() {
    assert_eq!(content(Status::Cancelled, None, ""), "Task cancelled by user.");
    assert_eq!(content(Status::Cancelled, None, "d"), "Task cancelled by user. Error: d");
}

#[test]
fn vector_33_time_outs_are_told() {
    assert_eq!(content(Status::TimedOut, None, "d"), "Task timed out. Error: d");
    assert_eq!(content(Status::Unheard, None, "detail"), "detail");
}

#[test]
fn vector_34_a_brief_is_the_beginning_and_the_end() {
    let whole = "A".repeat(3000);
    let fields = Contract::new(Status::Completed, None, whole.clone()).beside();
    let brief = fields["subagent_result_brief"].as_str().unwrap();
    assert_eq!((brief.len(), brief.find("\n...\n")), (2000, Some(1333)));
    assert_eq!(fields["subagent_result_sha256"], json!(hex::encode(Sha256::digest(&whole))));
    assert!(fields.get("subagent_error").is_none() && fields.get("subagent_token_usage").is_none());
}

#[test]
fn vector_35_out_of_turns_is_completed_with_what_was_said_and_failed_without() {
    for outcome in [Outcome::Success, Outcome::Error] {
        let partial = said([ai("a", "half of it", [call("x", "ls", &json!({}))])]);
        let (message, _) = told(outcome, Some(StopReason::TurnCapped), None, &partial);
        assert_eq!(message.content.text(), "Task Succeeded (capped: turn budget). Result: half of it");
        assert_eq!(message.additional_kwargs["subagent_stop_reason"], "turn_capped");
    }
    let (message, _) = told(Outcome::Error, Some(StopReason::TurnCapped), None, &State::default());
    assert_eq!(message.content.text(), "Task failed (capped: turn budget). Error: Reached max_turns=7");
    assert_eq!(message.additional_kwargs["subagent_status"], "failed");
}

#[test]
fn the_last_answer_of_a_child_is_its_result() {
    let state = said([ai("a", "first", []), ai("b", " X ", [])]);
    let (message, outcome) = told(Outcome::Success, None, None, &state);
    assert_eq!(
        (message.content.text().as_str(), message.status),
        ("Task Succeeded. Result: X", Some(ToolStatus::Success))
    );
    assert_eq!(message.tool_call_id.as_deref(), Some("c"));
    let fields = &message.additional_kwargs;
    assert_eq!(
        (&fields["subagent_status"], &fields["subagent_model_name"]),
        (&json!("completed"), &json!("big"))
    );
    let usage = json!({"input_tokens": 5, "output_tokens": 2, "total_tokens": 7});
    assert_eq!(fields["subagent_token_usage"], usage);

    assert_eq!((outcome.totals.calls, outcome.totals.subagent, outcome.totals.lead), (3, 7, 0));
    assert_eq!(outcome.totals.by_model["big"].total_tokens, 7);
    let [delegation] = outcome.state.delegations.as_slice() else { panic!("{:?}", outcome.state) };
    assert_eq!(
        (delegation.status, delegation.result_brief.as_deref()),
        (DelegationStatus::Completed, Some("X"))
    );
    let [.., Notice::Frame { data, .. }, Notice::Record { event_type, category, content, .. }] =
        outcome.notices.as_slice()
    else {
        panic!("{:?}", outcome.notices)
    };
    let event =
        json!({"type": "task_completed", "task_id": "c", "result": "X", "usage": usage, "model_name": "big"});
    assert_eq!(data, &event);
    assert_eq!((event_type.as_str(), category.as_str()), ("subagent.end", "subagent"));
    assert_eq!(content, &json!({"task_id": "c", "status": "completed", "result": "X", "usage": usage}));
}

#[test]
fn every_other_end_is_an_error_with_its_own_event() {
    let cases: [(Outcome, Option<&str>, &str, &str); 4] = [
        (Outcome::Error, Some("boom"), "task_failed", "Task failed. Error: boom"),
        (Outcome::Error, None, "task_failed", "Task failed. Error: the subagent failed"),
        (Outcome::Timeout, Some("late"), "task_timed_out", "Task timed out. Error: late"),
        (Outcome::Interrupted, None, "task_cancelled", "Task cancelled by user."),
    ];
    for (outcome, error, event, text) in cases {
        let (message, after) = told(outcome, None, error, &said([ai("a", "half", [])]));
        assert_eq!((message.content.text().as_str(), message.status), (text, Some(ToolStatus::Error)));
        assert!(message.additional_kwargs.get("subagent_result_brief").is_none());
        let mut frames = after.notices.iter().filter_map(|notice| match notice {
            Notice::Frame { data, .. } => data["type"].as_str(),
            _ => None,
        });
        assert_eq!(frames.next_back(), Some(event));
    }
}

#[test]
fn a_child_that_said_nothing_has_a_result_all_the_same() {
    let (message, _) = told(Outcome::Success, None, None, &State::default());
    assert_eq!(message.content.text(), "Task Succeeded. Result: No response generated");
}

#[test]
fn a_child_that_does_not_end_is_given_up() {
    let (message, outcome) = answered(Phase::Running, &State::default());
    assert_eq!(message.additional_kwargs["subagent_status"], "polling_timed_out");
    assert!(message.content.text().starts_with("The subagent was not done"));
    assert_eq!(outcome.state.delegations[0].status, DelegationStatus::TimedOut);
}

#[test]
fn vector_41_an_end_is_not_undone_and_the_newest_fifty_are_kept() {
    let (_, outcome) = told(Outcome::Success, None, None, &said([ai("a", "X", [])]));
    let mut state = outcome.state;
    let mut again = state.delegations[0].clone();
    again.status = DelegationStatus::InProgress;
    state.apply(pudu_domain::state::Write::Delegations(vec![again.clone()])).unwrap();
    assert_eq!(state.delegations[0].status, DelegationStatus::Completed);
    for number in 0..50 {
        let newer = pudu_domain::state::Delegation { id: format!("n{number}"), ..again.clone() };
        state.apply(pudu_domain::state::Write::Delegations(vec![newer])).unwrap();
    }
    assert_eq!((state.delegations.len(), state.delegations[0].id.as_str()), (50, "n0"));
}

/// What a child tells of `messages`, in two turns, frames and records.
fn tells(messages: &[Message]) -> Vec<Value> {
    let mut world = World::new(&json!({}));
    let parent = RunId::parse("p").unwrap();
    world.run.origin = Origin::Child { parent, call: "c".into() };
    let mut turn = world.turn(State::default());
    steps(&mut turn, &[ai("first", "", [])]);
    let mut turn = world.turn(turn.finish().state);
    let told = steps(&mut turn, messages);
    told.into_iter()
        .map(|notice| match notice {
            Notice::Frame { data, .. } => data,
            Notice::Record { content, .. } => content,
            Notice::Values { .. } => Value::Null,
        })
        .collect()
}

#[test]
fn vector_38_a_step_is_told_with_its_number_and_its_calls() {
    let message = ai("b", "hi", [call("x", "ls", &json!({"path": "/"}))]);
    let told = tells(std::slice::from_ref(&message));
    let [frame, record] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(
        record,
        &json!({
            "task_id": "c", "message_index": 2, "kind": "ai", "text": "hi", "truncated": false,
            "tool_calls": [{"name": "ls", "args": {"path": "/"}}],
        })
    );
    assert_eq!((&frame["type"], &frame["task_id"]), (&json!("task_running"), &json!("c")));
    assert_eq!((&frame["message_index"], &frame["total_messages"]), (&json!(2), &json!(2)));
    assert_eq!(frame["message"], json!(message));
}

#[test]
fn vector_39_a_long_step_is_cut() {
    let long = "x".repeat(9000);
    let tool = Message::tool(&call("x", "ls", &json!({})), ToolStatus::Success, long.clone());
    let told = tells(&[tool, ai("b", "", [call("y", "write", &json!({ "content": long }))])]);
    let (tool, ai) = (&told[1], &told[3]);
    assert_eq!((tool["text"].as_str().unwrap().len(), &tool["truncated"]), (8192, &json!(true)));
    assert_eq!((&tool["kind"], &tool["tool_name"]), (&json!("tool"), &json!("ls")));
    let shown = &ai["tool_calls"][0];
    assert_eq!((shown["args"].as_str().unwrap().len(), &shown["args_truncated"]), (8192, &json!(true)));
}

#[test]
fn only_a_child_tells_its_steps() {
    let world = World::new(&json!({}));
    assert!(steps(&mut world.turn(State::default()), &[ai("a", "x", [])]).is_empty());
}
