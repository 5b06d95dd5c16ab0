use pudu_domain::chat::{Content, Message};
use pudu_domain::run::StopReason;
use pudu_domain::state::{Delegation, DelegationStatus, State};
use pudu_domain::{Run, RunId};
use serde_json::json;

use super::super::*;
use crate::fixture::{World, ai, call};
use crate::middleware::{Flow, Middleware as _, Request};

/// A run that has begun so many subagents.
fn world(children: u32) -> World {
    let world = World::new(&json!({"subagent_enabled": true}));
    World { run: Run { children, ..world.run.clone() }, ..world }
}

fn asks(tasks: usize) -> Message {
    let calls = (0..tasks).map(|number| call(&format!("c{number}"), TASK, &json!({})));
    Message { content: "hi".into(), ..ai("a", "", calls) }
}

fn cut(world: &World, state: State, mut answer: Message) -> (Message, Option<StopReason>) {
    let mut turn = world.turn(state);
    assert_eq!(SubagentLimit.after_model(&mut turn, &mut answer), Flow::Go);
    (answer, turn.stopped())
}

fn ids(answer: &Message) -> Vec<&str> {
    answer.tool_calls.iter().map(|call| call.id.as_str()).collect()
}

#[test]
fn vector_23_of_five_delegations_in_one_message_the_first_three_are_kept() {
    let (answer, stopped) = cut(&world(0), State::default(), asks(5));
    assert_eq!((ids(&answer), stopped), (vec!["c0", "c1", "c2"], None));
    assert_eq!(answer.content.text(), "hi");
}

#[test]
fn vector_25_a_run_that_has_used_its_subagents_delegates_no_more() {
    let (answer, stopped) = cut(&world(6), State::default(), asks(2));
    assert_eq!(ids(&answer), Vec::<&str>::new());
    assert!(answer.content.text().starts_with("hi\n\n[SUBAGENT LIMIT REACHED]"), "{:?}", answer.content);
    assert_eq!(answer.finish_reason(), Some("stop"));
    assert_eq!(stopped, Some(StopReason::SubagentLimitCapped));
}

#[test]
fn vector_26_other_calls_of_that_message_are_made() {
    let mut asked = asks(2);
    asked.tool_calls.push(call("b", "bash", &json!({})));
    asked.response_metadata.insert("finish_reason".into(), json!("tool_calls"));
    let (answer, _) = cut(&world(6), State::default(), asked);
    assert_eq!(ids(&answer), ["b"]);
    assert!(answer.content.text().contains("[SUBAGENT LIMIT REACHED]"));
    assert_eq!(answer.finish_reason(), Some("tool_calls"));
}

#[test]
fn vector_27_what_another_run_delegated_does_not_count() {
    let other = |number: u32| Delegation {
        id: format!("d{number}"),
        run_id: RunId::parse("other").unwrap(),
        description: "x".into(),
        subagent_type: "bash".into(),
        status: DelegationStatus::Completed,
        result_brief: None,
        result_sha256: None,
    };
    let state = State { delegations: (0..6).map(other).collect(), ..State::default() };
    assert_eq!(ids(&cut(&world(0), state, asks(2)).0), ["c0", "c1"]);
}

#[test]
fn vector_28_the_smaller_allowance_counts() {
    assert_eq!(ids(&cut(&world(5), State::default(), asks(3)).0), ["c0"]);
}

#[test]
fn the_operators_total_counts_where_the_caller_says_nothing() {
    let mut world = world(1);
    let house = std::sync::Arc::make_mut(&mut world.options.house);
    house.types.max_total = 2;
    assert_eq!(ids(&cut(&world, State::default(), asks(3)).0), ["c0"]);
}

#[test]
fn blocks_of_dropped_calls_go_with_them() {
    let mut asked = asks(1);
    asked.content = Content::Blocks(vec![
        json!({"type": "text", "text": "hi"}),
        json!({"type": "tool_use", "id": "c0", "name": "task", "input": {}}),
        json!({"type": "tool_use", "id": "b", "name": "bash", "input": {}}),
    ]);
    let (answer, _) = cut(&world(6), State::default(), asked);
    let Content::Blocks(blocks) = &answer.content else { panic!("{answer:?}") };
    assert_eq!(
        blocks.iter().map(|block| block["type"].as_str().unwrap()).collect::<Vec<_>>(),
        ["text", "tool_use", "text"]
    );
    assert_eq!(blocks[1]["id"], "b");
}

#[test]
fn who_may_not_delegate_is_neither_told_of_it_nor_cut() {
    let world = World::new(&json!({}));
    assert_eq!(ids(&cut(&world, State::default(), asks(5)).0).len(), 5);
    let mut request = Request::default();
    SubagentLimit.shape(&world.turn(State::default()), &mut request);
    assert_eq!(request.system, Vec::<String>::new());
}

#[test]
fn a_model_is_told_the_limits_and_the_types_that_can_be_used() {
    let mut request = Request::default();
    SubagentLimit.shape(&world(0).turn(State::default()), &mut request);
    let [section] = request.system.as_slice() else { panic!("{request:?}") };
    assert!(section.contains("at most 3 calls") && section.contains("at most 6 in all"), "{section}");
    assert!(section.contains("- general-purpose: ") && !section.contains("- bash: "), "{section}");
}
