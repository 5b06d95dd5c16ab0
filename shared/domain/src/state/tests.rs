use serde_json::json;

use super::*;
use crate::chat::{ToolCall, ToolStatus};

fn state(writes: impl IntoIterator<Item = Write>) -> State {
    let mut state = State::default();
    state.apply_all(writes).unwrap();
    state
}

fn said(id: &str, text: &str) -> Write {
    Write::message(Message::new(Speaker::Human, id, text))
}

fn ids(state: &State) -> Vec<&str> {
    state.messages.iter().map(|message| message.id.as_str()).collect()
}

fn call(id: &str) -> ToolCall {
    ToolCall::new(id, "ls", Map::new())
}

fn calling(id: &str, calls: &[&str]) -> Write {
    let tool_calls = calls.iter().map(|id| call(id)).collect();
    Write::message(Message { tool_calls, ..Message::new(Speaker::Ai, id, "") })
}

fn answered(id: &str) -> Write {
    Write::message(Message::tool(&call(id), ToolStatus::Success, "x"))
}

#[test]
fn messages_are_appended_replaced_and_removed_by_id() {
    let mut state = state([said("a", "1"), said("b", "2"), said("a", "3")]);
    assert_eq!((ids(&state), state.messages[0].content.text()), (vec!["a", "b"], "3".to_owned()));
    state.apply(Write::RemoveMessage("a".into())).unwrap();
    assert_eq!(ids(&state), ["b"]);
    state.apply_all([Write::RemoveAllMessages, said("c", "4")]).unwrap();
    assert_eq!(ids(&state), ["c"]);
}

#[test]
fn answers_of_tools_stand_in_the_order_of_the_calls() {
    let mut state = state([calling("m", &["c1", "c2", "c3"]), answered("c3"), answered("c1")]);
    assert_eq!(ids(&state), ["m", "tool:c1", "tool:c3"]);
    assert_eq!(state.open_calls().iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["c2"]);
    state.apply(answered("c2")).unwrap();
    assert_eq!(ids(&state), ["m", "tool:c1", "tool:c2", "tool:c3"]);
    assert!(state.open_calls().is_empty());
    // A late answer stands with its call, not behind what was said since.
    let late = state_after_a_word();
    assert_eq!(ids(&late), ["m", "tool:c1", "u"]);
}

fn state_after_a_word() -> State {
    state([calling("m", &["c1"]), said("u", "well?"), answered("c1")])
}

#[test]
fn what_is_open_is_open_only_until_somebody_speaks() {
    assert!(state([calling("m", &["c1"]), said("u", "never mind")]).open_calls().is_empty());
    assert!(state([]).open_calls().is_empty());
}

#[test]
fn vector_88_two_sandboxes_are_an_error() {
    let mut state = state([Write::Sandbox(Some(json!({"sandbox_id": "a"}))), Write::Sandbox(None)]);
    state.apply(Write::Sandbox(Some(json!({"sandbox_id": "a"})))).unwrap();
    let before = state.clone();
    assert_eq!(state.apply(Write::Sandbox(Some(json!({"sandbox_id": "b"})))), Err(WriteError::OtherSandbox));
    assert_eq!(state, before);
}

#[test]
fn vector_99_artifacts_are_an_ordered_union_and_no_images_clear_them() {
    let paths = |paths: &[&str]| Write::Artifacts(paths.iter().map(|path| (*path).to_owned()).collect());
    let mut state = state([paths(&["a", "b"]), paths(&["b", "c", "a"])]);
    assert_eq!(state.artifacts, ["a", "b", "c"]);
    let image = |path: &str| Map::from_iter([(path.to_owned(), json!({"mime_type": "image/png"}))]);
    state.apply_all([Write::ViewedImages(image("x")), Write::ViewedImages(image("y"))]).unwrap();
    assert_eq!(state.viewed_images.len(), 2);
    state.apply(Write::ViewedImages(Map::new())).unwrap();
    assert!(state.viewed_images.is_empty());
}

#[test]
fn vector_100_skills_in_use_are_the_last_eight() {
    let skill = |name: &str| SkillUse {
        name: name.to_owned(),
        path: format!("/skills/{name}"),
        description: "d".repeat(501),
    };
    let names: Vec<String> = (1..=8).map(|n| format!("s{n}")).collect();
    let mut state = state([Write::Skills(names.iter().map(|name| skill(name)).collect())]);
    state.apply_all([Write::Skills(vec![skill("s1")]), Write::Skills(vec![skill("new")])]).unwrap();
    let kept: Vec<&str> = state.skill_context.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(kept, ["s3", "s4", "s5", "s6", "s7", "s8", "s1", "new"]);
    assert!(state.skill_context.iter().all(|skill| skill.description.len() == SKILL_DESCRIPTION_CHARS));
}

fn delegation(id: &str, status: DelegationStatus) -> Delegation {
    Delegation {
        id: id.to_owned(),
        run_id: RunId::parse("r").unwrap(),
        description: "look".to_owned(),
        subagent_type: "general-purpose".to_owned(),
        status,
        result_brief: None,
        result_sha256: None,
    }
}

#[test]
fn vector_41_a_delegation_that_has_ended_does_not_begin_again_and_fifty_are_kept() {
    let one = |id: &str, status| Write::Delegations(vec![delegation(id, status)]);
    let mut state = state([one("a", DelegationStatus::Completed), one("a", DelegationStatus::InProgress)]);
    assert_eq!(state.delegations[0].status, DelegationStatus::Completed);
    state.apply_all((0..50).map(|n| one(&n.to_string(), DelegationStatus::Failed))).unwrap();
    assert_eq!((state.delegations.len(), state.delegations[0].id.as_str()), (50, "0"));
}

#[test]
fn promoted_tools_are_of_one_catalogue() {
    let promoted = |hash: &str, names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Write::Promoted(Promoted { catalog_hash: hash.to_owned(), names })
    };
    let mut state = state([promoted("h", &["a", "b"]), promoted("h", &["b", "c"])]);
    assert_eq!(state.promoted.as_ref().unwrap().names, ["a", "b", "c"]);
    state.apply(promoted("other", &["z"])).unwrap();
    assert_eq!(state.promoted.unwrap().names, ["z"]);
}

#[test]
fn nothing_changes_a_plan_but_a_plan() {
    let todo = Todo::new("a", TodoStatus::Pending);
    let mut state = state([Write::Todos(Some(vec![todo.clone()])), Write::Todos(None)]);
    assert_eq!(state.todos, Some(vec![todo]));
    state.apply(Write::Todos(Some(vec![]))).unwrap();
    assert_eq!(state.todos, Some(vec![]));
}

#[test]
fn a_goal_is_the_last_one_until_it_is_forgotten() {
    let goal = |objective: &str| Write::Goal(Some(json!({ "objective": objective })));
    let mut state = state([goal("a"), goal("b"), Write::Goal(None)]);
    assert_eq!(state.goal, Some(json!({ "objective": "b" })));
    state.apply(Write::ForgetGoal).unwrap();
    assert_eq!(state.goal, None);
}

#[test]
fn vector_47a_an_items_active_form_is_kept() {
    let told = json!({"content": "a", "status": "pending", "activeForm": "x"});
    let todo: Todo = serde_json::from_value(told.clone()).unwrap();
    assert_eq!(serde_json::to_value(todo).unwrap(), told);
}

#[test]
fn vector_47b_an_item_of_another_status_is_none() {
    assert!(serde_json::from_value::<Todo>(json!({"content": "a", "status": "done"})).is_err());
}

#[test]
fn tasks_are_known_by_id_and_calls_side_by_side_do_not_overwrite_each_others() {
    let task = |id: &str, status: &str| BackgroundTask {
        task_id: id.into(),
        task_name: "n".into(),
        status: status.into(),
        updated_at: "now".into(),
    };
    let one = |id: &str, status: &str| Write::BackgroundTask(task(id, status));
    let mut state = state([one("a", "working"), one("b", "working"), one("a", "completed")]);
    assert_eq!(state.background_tasks, Some(vec![task("a", "completed"), task("b", "working")]));
    state.apply(Write::BackgroundTasks(vec![task("c", "working")])).unwrap();
    assert_eq!(state.background_tasks, Some(vec![task("c", "working")]), "the whole list replaces it");
    state.apply_all((0..BACKGROUND_TASKS).map(|n| one(&n.to_string(), "working"))).unwrap();
    let tasks = state.background_tasks.unwrap();
    assert_eq!((tasks.len(), tasks[0].task_id.as_str()), (BACKGROUND_TASKS, "0"));
}

#[test]
fn counters_are_kept_and_forgotten() {
    let counters = |value| Write::Counters { name: "loop".to_owned(), value };
    let mut state = state([counters(json!({"seen": 3}))]);
    let stored = serde_json::to_value(&state).unwrap();
    assert_eq!(serde_json::from_value::<State>(stored).unwrap(), state);
    state.apply(counters(Value::Null)).unwrap();
    assert!(state.counters.is_empty());
}

/// What a checkpoint keeps is what was written.
#[test]
fn writes_read_back() {
    let writes = vec![
        calling("m", &["c"]),
        answered("c"),
        Write::Title("t".into()),
        Write::Todos(None),
        Write::ForgetGoal,
    ];
    let stored = serde_json::to_string(&writes).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Write>>(&stored).unwrap(), writes);
}
