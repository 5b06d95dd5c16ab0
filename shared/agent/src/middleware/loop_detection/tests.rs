use std::sync::Arc;

use pudu_domain::chat::ToolCall;
use pudu_domain::state::State;
use serde_json::json;

use super::*;
use crate::fixture::{World, ai, call};

fn bash(command: &str) -> ToolCall {
    call("c", "bash", &json!({"description": "why", "command": command}))
}

/// What comes of each of these turns: warned at the next call, stopped.
fn turns(calls: impl IntoIterator<Item = ToolCall>) -> Vec<(bool, bool)> {
    let world = World::new(&json!({}));
    let mut turn = world.turn(State::default());
    let mut seen = Vec::new();
    for made in calls {
        let mut answer = ai("a", "so far", [made]);
        LoopDetection.after_model(&mut turn, &mut answer);
        let mut request = Request::default();
        LoopDetection.shape(&turn, &mut request);
        let stopped = answer.tool_calls.is_empty();
        if stopped {
            assert_eq!(turn.stopped(), Some(StopReason::LoopCapped));
            assert_eq!(answer.finish_reason(), Some("stop"));
            assert!(answer.content.text().starts_with("so far\n\n[FORCED STOP]"));
        }
        let named = request.messages.iter().all(|message| message.name.as_deref() == Some("loop_warning"));
        assert!(named);
        seen.push((!request.messages.is_empty(), stopped));
    }
    seen
}

#[test]
fn vector_93_the_same_call_is_warned_of_at_three_and_stopped_at_five() {
    let seen = turns((0..5).map(|_| bash("ls")));
    assert_eq!(seen, [(false, false), (false, false), (true, false), (false, false), (false, true)]);
}

#[test]
fn vector_94_many_calls_of_one_tool_are_warned_of_at_thirty_and_stopped_at_fifty() {
    let seen = turns((0..50).map(|number| bash(&format!("ls {number}"))));
    let warned: Vec<usize> = seen.iter().enumerate().filter(|(_, it)| it.0).map(|(at, _)| at + 1).collect();
    let stopped: Vec<usize> = seen.iter().enumerate().filter(|(_, it)| it.1).map(|(at, _)| at + 1).collect();
    assert_eq!((warned, stopped), (vec![30], vec![50]));
}

#[test]
fn vector_95_reading_the_same_lines_is_the_same_call() {
    let read = |from: u64, to: u64| {
        let args = json!({"path": "/a", "start_line": from, "end_line": to});
        key::of_turn(&[call("c", "read_file", &args)])
    };
    assert_eq!(read(1, 50), read(10, 199));
    assert_eq!(read(1, 50), read(1, 200));
    assert_ne!(read(1, 50), read(201, 300));
}

#[test]
fn a_turn_is_its_calls_in_any_order_and_what_they_are_about() {
    let (a, b) = (bash("a"), bash("b"));
    assert_eq!(key::of_turn(&[a.clone(), b.clone()]), key::of_turn(&[b.clone(), a.clone()]));
    assert_ne!(key::of_turn(&[a.clone(), a.clone()]), key::of_turn(std::slice::from_ref(&a)));
    let other = call("d", "bash", &json!({"description": "other words", "command": "a"}));
    assert_eq!(key::of_turn(&[a]), key::of_turn(&[other]));
    let write =
        |text: &str| key::of_turn(&[call("c", "write_file", &json!({"path": "/a", "content": text}))]);
    assert_ne!(write("1"), write("2"));
}

#[test]
fn tools_that_are_meant_to_be_called_often_have_numbers_of_their_own() {
    let mut world = World::new(&json!({}));
    let limits = &mut Arc::make_mut(&mut world.options.house).agents.loop_detection;
    limits.by_tool = [("bash".into(), pudu_config::Limits { warn: 1, stop: 2 })].into();
    let mut turn = world.turn(State::default());
    for (number, left) in [(1, 1), (2, 0)] {
        let mut answer = ai("a", "", [bash(&number.to_string())]);
        LoopDetection.after_model(&mut turn, &mut answer);
        assert_eq!(answer.tool_calls.len(), left);
    }
}

#[test]
fn an_operator_may_leave_loops_alone() {
    let mut world = World::new(&json!({}));
    Arc::make_mut(&mut world.options.house).agents.loop_detection.enabled = false;
    let mut turn = world.turn(State::default());
    for _ in 0..60 {
        let mut answer = ai("a", "", [bash("ls")]);
        LoopDetection.after_model(&mut turn, &mut answer);
        assert_eq!(answer.tool_calls.len(), 1);
    }
}
