//! Calls that may become tasks by themselves: a task is tracked like any other, and of a call that did not become one nothing is
//! left.

use acceptance::ports::wired_speaking;
use pudu_app::deadline::Deadline;
use pudu_app::ports::{CallFault, TaskProtocol};

use super::*;

/// One gateway before a server that lets calls become tasks, whose calls go wrong as its script says.
struct Tasks {
    desk: Desk,
}

impl Tasks {
    async fn new(tasks: TaskProtocol, script: impl FnMut(Call<'_>) -> Fate + Send + 'static) -> Self {
        Self::of(tasks, Plan::completes_after(Duration::from_secs(30)), script).await
    }

    async fn of(
        tasks: TaskProtocol,
        plan: Plan,
        script: impl FnMut(Call<'_>) -> Fate + Send + 'static,
    ) -> Self {
        let mut desk = Desk::new(plan, |_: Call<'_>| Fate::Pass).await;
        let gate = Gate::new("gateway", Arc::new(desk.clock), Trace::hashed(), script);
        desk.wiring = wired_speaking(desk.clock, &desk.table, &desk.server, &gate, tasks);
        Self { desk }
    }

    async fn call(&self, tool: &str, arguments: Value, durable: bool) -> Result<Invoked, InvokeError> {
        let terms = Terms { durable, ..Terms::default() };
        let name = format!("{}_{tool}", fixture::SERVER);
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        self.desk
            .wiring
            .tools()
            .invoke(&fixture::principal(), Caller::of(fixture::thread("t")), &name, arguments, terms)
            .await
    }

    async fn echo(&self) -> Result<Invoked, InvokeError> {
        self.call("echo", json!({"text": "hi"}), false).await
    }

    /// Polls until the task has ended.
    async fn end(&self) -> StoredTask {
        for _ in 0..100 {
            self.desk.clock.sleep(Duration::from_secs(5)).await;
            let wiring = &self.desk.wiring;
            let deadline = Deadline::at(self.desk.clock.now() + Duration::from_secs(60));
            wiring.drain().run(Arc::new(wiring.poller()), deadline).await;
            let row = self.desk.row();
            if row.task.status().is_terminal() {
                return row;
            }
        }
        panic!("the task does not end: {:?}", self.desk.row());
    }
}

fn pass(_: Call<'_>) -> Fate {
    Fate::Pass
}

#[tokio::test(start_paused = true)]
async fn a_call_that_becomes_a_task_is_tracked_to_its_end() {
    for (protocol, durable, driver) in
        [(TaskProtocol::Extension, false, "mcp-tasks"), (TaskProtocol::Core, true, "core-tasks")]
    {
        let tasks = Tasks::new(protocol, pass).await;
        let called = tasks.call("research", json!({}), durable).await.unwrap();
        let Invoked::Submitted(submitted) = called else { panic!("{called:?}") };
        assert_eq!(submitted.task_name, format!("{}_research", fixture::SERVER), "what the caller called");
        let ended = tasks.end().await;
        assert_eq!((ended.task.status(), ended.spec.driver.as_str()), (Status::Completed, driver));
        let result = ended.payload.result.unwrap();
        assert!(result["structuredContent"]["report"].is_string(), "the whole result: {result}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_poll_comes_when_the_server_asks_for_it() {
    for protocol in [TaskProtocol::Extension, TaskProtocol::Core] {
        let hint = Some(Duration::from_millis(1500));
        let tasks = Tasks::of(protocol, Plan { hint, ..long() }, pass).await;
        let started = tasks.desk.clock.now();
        tasks.call("research", json!({}), true).await.unwrap();
        let due = tasks.desk.row().task.durable.due.unwrap();
        assert_eq!((due.lane, due.at), (Lane::Poll, started + Duration::from_millis(1500)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_answered_at_once_leaves_nothing() {
    let tasks = Tasks::new(TaskProtocol::Extension, pass).await;
    let Invoked::Result(result) = tasks.echo().await.unwrap() else { panic!("echo is no task") };
    assert!(result["content"][0]["text"].as_str().unwrap().contains("hi"));
    assert!(tasks.desk.table.tasks().is_empty());
}

/// The intent could not be erased: the caller has its result all the same, and the thread is told what cannot be known.
#[tokio::test(start_paused = true)]
async fn an_answer_is_not_lost_with_the_table() {
    let tasks = Tasks::new(TaskProtocol::Extension, at_commit(1, Fate::FailBefore, true)).await;
    assert!(matches!(tasks.echo().await, Ok(Invoked::Result(_))));
    assert_eq!(tasks.desk.row().task.durable.due.map(|due| due.lane), Some(Lane::Intent));
    tasks.desk.recover().await;
    assert_eq!(tasks.desk.row().task.status(), Status::Failed);
    // An answer that was lost after it was applied changes nothing.
    let tasks = Tasks::new(TaskProtocol::Extension, at_commit(1, Fate::LoseAnswer, false)).await;
    assert!(matches!(tasks.echo().await, Ok(Invoked::Result(_))));
    assert!(tasks.desk.table.tasks().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_certainly_did_nothing_fails_like_any_other_and_leaves_nothing() {
    let tasks = Tasks::new(TaskProtocol::Extension, pass).await;
    tasks.desk.server.set_down(true);
    match tasks.call("research", json!({}), false).await {
        Err(InvokeError::Call(error)) => assert_eq!(error.fault, CallFault::NotSent),
        other => panic!("{other:?}"),
    }
    assert!(tasks.desk.table.tasks().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_caller_chooses_where_the_tool_lets_it() {
    let tasks = Tasks::new(TaskProtocol::Core, pass).await;
    let at_once = tasks.call("research", json!({}), false).await.unwrap();
    assert!(matches!(at_once, Invoked::Result(_)), "{at_once:?}");
    match tasks.call("echo", json!({"text": "hi"}), true).await {
        Err(error @ InvokeError::NotDurable { .. }) => {
            assert!(error.to_string().contains("_echo"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    assert!(tasks.desk.table.tasks().is_empty());
    let task = tasks.call("research", json!({}), true).await.unwrap();
    assert!(matches!(task, Invoked::Submitted(_)), "{task:?}");
}
