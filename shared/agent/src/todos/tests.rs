use pudu_domain::chat::{HIDDEN, InvalidToolCall, ToolCall};
use pudu_domain::run::Notice;
use pudu_domain::state::Write;
use serde_json::{Value, json};

use super::*;
use crate::fixture::{Says, World, ai, call, human, said};
use crate::tool::{Brought, Tool as _};

fn world() -> World {
    World::new(&json!({"is_plan_mode": true}))
}

fn todo(content: &str, status: TodoStatus) -> Todo {
    Todo::new(content, status)
}

fn three() -> Vec<Todo> {
    vec![
        todo("任务1", TodoStatus::Pending),
        todo("任务2", TodoStatus::InProgress),
        todo("任务3", TodoStatus::Completed),
    ]
}

fn planned(todos: Vec<Todo>, messages: impl IntoIterator<Item = Message>) -> State {
    State { todos: Some(todos), ..said(messages) }
}

fn writing(id: &str, todos: &[Todo]) -> ToolCall {
    call(id, WRITE_TODOS, &json!({ "todos": todos }))
}

/// A call that wrote the list, with its answer.
fn wrote(todos: &[Todo]) -> [Message; 2] {
    let call = writing("c", todos);
    let answer = Message::tool(&call, ToolStatus::Success, "Updated");
    [ai("a", "", [call]), answer]
}

/// The messages that a turn adds before the model is called.
async fn added(world: &World, state: &State) -> Vec<Message> {
    let mut turn = world.turn(state.clone());
    Todos.before_model(&mut turn, &Says(None)).await;
    turn.state().messages.get(state.messages.len()..).unwrap().to_vec()
}

async fn write(state: &State, call: &ToolCall) -> Brought {
    WriteTodos.call(world().bench(state), call).await
}

#[tokio::test]
async fn vector_43_a_list_out_of_sight_is_told_once() {
    let state = planned(three(), [human("h", "go on")]);
    let added = added(&world(), &state).await;
    let [reminder] = added.as_slice() else { panic!("{added:?}") };
    assert_eq!(reminder.name.as_deref(), Some("todo_reminder"));
    assert_eq!(reminder.additional_kwargs.get(HIDDEN), Some(&json!(true)));
    assert_eq!(reminder.speaker, Speaker::Human);
    let text = "<system_reminder>\nYour todo list from earlier is no longer visible in the current context window, but it is still active. Here is the current state:\n\n- [pending] 任务1\n- [in_progress] 任务2\n- [completed] 任务3\n\nContinue tracking and updating this todo list as you work. Call `write_todos` whenever the status of any item changes.\n</system_reminder>";
    assert_eq!(reminder.content.text(), text);
}

#[tokio::test]
async fn vector_44_a_list_in_sight_is_not_told_again() {
    let world = world();
    assert_eq!(added(&world, &planned(three(), wrote(&three()))).await, []);
    let mut state = planned(three(), [human("h", "go on")]);
    let reminder = added(&world, &state).await;
    state.messages.extend(reminder);
    state.messages.push(ai("b", "working", []));
    assert_eq!(added(&world, &state).await, []);
}

#[tokio::test]
async fn there_is_nothing_to_tell_without_a_list_or_a_plan() {
    assert_eq!(added(&world(), &planned(vec![], [human("h", "x")])).await, []);
    assert_eq!(added(&World::new(&json!({})), &planned(three(), [human("h", "x")])).await, []);
}

#[tokio::test]
async fn a_list_that_was_changed_elsewhere_is_told_again() {
    let (mut world, mut changed) = (world(), three());
    changed[0].status = TodoStatus::Completed;
    let mut state = planned(changed, wrote(&three()));
    let first = added(&world, &state).await;
    assert!(first[0].content.text().contains("changed by someone else"), "{first:?}");
    assert!(first[0].content.text().contains("- [completed] 任务1"), "{first:?}");
    state.messages.extend(first);
    assert_eq!(added(&world, &state).await, [], "once is enough");

    // Back to what stands in the call: the reminder in between is what the model saw last.
    state.todos = Some(three());
    world.run.checkpoints += 1;
    let second = added(&world, &state).await;
    assert_eq!(second.len(), 1);
    state.messages.extend(second);
    assert_eq!(added(&world, &state).await, []);
}

#[tokio::test]
async fn a_call_that_wrote_nothing_shows_nothing() {
    let failed = writing("c", &three());
    let answer = Message::tool(&failed, ToolStatus::Error, "no");
    assert_eq!(added(&world(), &planned(three(), [ai("a", "", [failed]), answer])).await.len(), 1);
}

/// Says an answer; what follows, and what the next call is told.
fn ends(world: &World, state: &mut State, mut answer: Message) -> (Flow, Option<Message>) {
    let mut turn = world.turn(state.clone());
    let flow = Todos.after_model(&mut turn, &mut answer);
    *state = turn.finish().state;
    let mut request = Request::default();
    Todos.shape(&world.turn(state.clone()), &mut request);
    (flow, request.messages.pop())
}

#[test]
fn vector_45_a_run_is_held_to_its_list_twice() {
    let world = world();
    let list = vec![
        todo("任务1", TodoStatus::Pending),
        todo("done", TodoStatus::Completed),
        todo("b", TodoStatus::InProgress),
    ];
    let mut state = planned(list, []);
    let text = "<system_reminder>\nYou have incomplete todo items that must be finished before giving your final response:\n\n- [pending] 任务1\n- [in_progress] b\n\nPlease continue working on these tasks. Call `write_todos` to mark items as completed as you finish them, and only respond when all items are done.\n</system_reminder>";
    for _ in 0..2 {
        let (flow, told) = ends(&world, &mut state, ai("a", "done", []));
        assert_eq!(flow, Flow::Again);
        let told = told.unwrap();
        assert_eq!(told.content.text(), text);
        assert_eq!(told.name.as_deref(), Some("todo_completion_reminder"));
    }
    assert_eq!(ends(&world, &mut state, ai("a", "done", [])), (Flow::Go, None));
    assert_eq!(state.messages, [], "nothing of it stays");
}

#[test]
fn another_run_is_held_to_the_list_anew() {
    let mut world = world();
    let mut state = planned(three(), []);
    for _ in 0..3 {
        ends(&world, &mut state, ai("a", "done", []));
    }
    world.run.key.id = RunId::parse("r2").unwrap();
    assert_eq!(ends(&world, &mut state, ai("a", "done", [])).0, Flow::Again);
}

#[test]
fn a_model_that_goes_on_is_not_held_to_anything() {
    let world = world();
    let mut state = planned(three(), []);
    assert_eq!(ends(&world, &mut state, ai("a", "", [writing("c", &three())])).0, Flow::Go);
    let invalid = InvalidToolCall { name: None, args: None, id: None, error: None };
    let broken = Message { invalid_tool_calls: vec![invalid], ..ai("a", "", []) };
    assert_eq!(ends(&world, &mut state, broken).0, Flow::Go);
    let mut cut = ai("a", "", []);
    cut.response_metadata.insert("finish_reason".into(), json!("tool_calls"));
    assert_eq!(ends(&world, &mut state, cut).0, Flow::Go);

    // It was told once and works again: it is not told a second time in the middle of that.
    assert_eq!(ends(&world, &mut state, ai("a", "done", [])).0, Flow::Again);
    assert_eq!(ends(&world, &mut state, ai("a", "", [writing("c", &three())])), (Flow::Go, None));
}

#[test]
fn vector_46_a_finished_list_holds_nobody() {
    let mut state = planned(vec![todo("a", TodoStatus::Completed)], []);
    assert_eq!(ends(&world(), &mut state, ai("a", "done", [])), (Flow::Go, None));
}

/// What a call wrote, as a model knows it: without the ids.
fn listed(brought: &Brought) -> Vec<Todo> {
    let [Write::Todos(Some(todos))] = brought.writes.as_slice() else { panic!("{brought:?}") };
    todos.iter().map(|todo| Todo { id: None, ..todo.clone() }).collect()
}

#[tokio::test]
async fn vector_47_of_two_lists_in_one_message_the_last_is_written() {
    let (first, last) = (writing("c1", &three()), writing("c2", &three()[..1]));
    let state = said([ai("a", "", [first.clone(), call("c", "ls", &json!({})), last.clone()])]);
    let extra = write(&state, &first).await;
    assert_eq!((extra.message.status, extra.writes), (Some(ToolStatus::Error), vec![]));
    assert!(extra.message.content.text().contains("only its last call counts"), "{:?}", extra.message);
    let written = write(&state, &last).await;
    assert_eq!(written.message.status, Some(ToolStatus::Success));
    assert_eq!(listed(&written), three()[..1]);
}

#[tokio::test]
async fn vector_47a_the_active_form_is_kept() {
    let items = json!([{"content": "a", "status": "in_progress", "activeForm": "x", "id": 7}]);
    let call = call("c", WRITE_TODOS, &json!({ "todos": items }));
    let brought = write(&said([ai("a", "", [call.clone()])]), &call).await;
    let kept = Todo { active_form: Some("x".into()), ..todo("a", TodoStatus::InProgress) };
    assert_eq!(listed(&brought), [kept]);
    let text = r#"Updated todo list to [{"content":"a","status":"in_progress","activeForm":"x"}]"#;
    assert_eq!(brought.message.content.text(), text);
    let [Notice::Frame { event, data }] = brought.notices.as_slice() else { panic!("{brought:?}") };
    assert_eq!(event, "custom");
    assert_eq!(
        (&data["type"], &data["completed"], &data["total"]),
        (&json!("todos_updated"), &json!(0), &json!(1))
    );
    assert_eq!(data["current"], json!("x"));
    assert!(
        data["todos"][0]["id"].as_str().is_some_and(|id| id.starts_with("todo-")),
        "a client can follow it"
    );
}

#[tokio::test]
async fn vector_47b_what_is_wrong_with_a_list_is_said_with_its_place() {
    let cases: [(Value, &str); 6] = [
        (json!([{"content": "a", "status": "done"}]), "todos[0].status: must be"),
        (
            json!([{"content": "a", "status": "pending"}, {"status": "pending"}]),
            "todos[1].content: is missing",
        ),
        (json!([{"content": " ", "status": "pending"}]), "todos[0].content: must not be blank"),
        (
            json!([{"content": "a", "status": "pending", "activeForm": 7}]),
            "todos[0].activeForm: must be a string",
        ),
        (json!(["a"]), "todos[0]: must be an object"),
        (json!("a"), "todos: must be a list"),
    ];
    for (items, problem) in cases {
        let call = call("c", WRITE_TODOS, &json!({ "todos": items }));
        let brought = write(&said([ai("a", "", [call.clone()])]), &call).await;
        assert_eq!((brought.message.status, brought.writes), (Some(ToolStatus::Error), vec![]), "{items}");
        assert!(brought.message.content.text().contains(problem), "{:?}", brought.message.content);
    }
}

#[test]
fn one_item_is_one_line() {
    let text = texts::lost(&[todo("a\nb", TodoStatus::Pending)]);
    assert!(text.contains("- [pending] a b\n"), "{text}");
}
