use std::sync::Arc;

use pudu_app::configs::TableSource;
use pudu_app::drivers::Drivers;
use pudu_app::known::Known;
use pudu_app::limits::Limits;
use pudu_app::ports::{Clock, Committed, TaskStore};
use pudu_app::wiring::{Ports, Wiring};
use pudu_config::{Document, NoSecrets};
use pudu_domain::task::{Command, Context, decide};
use pudu_domain::{Payload, Policy, Scope, Status};
use pudu_testkit::{FakeServer, FakeTable, FakeWaker, FixedKeys, Gate, SeededRandom, VirtualClock, fixture};

use super::*;
use crate::fixture::{World, call};
use crate::tool::Tool;

/// The tasks of the thread `t`.
struct Stage {
    clock: VirtualClock,
    table: FakeTable,
    tasks: Tasks,
}

impl Stage {
    async fn new() -> Self {
        let clock = VirtualClock::start();
        let table = FakeTable::new();
        let server = FakeServer::new(Arc::new(clock), |_| {
            pudu_testkit::server::Plan::completes_after(std::time::Duration::from_secs(600))
        });
        let ticks: Arc<dyn Clock> = Arc::new(clock);
        let store = Arc::new(table.store(Arc::clone(&ticks), Gate::open()));
        let random = Arc::new(SeededRandom::new(1));
        let keys = Arc::new(FixedKeys);
        let config = TableSource::new(store.clone(), keys.clone(), Arc::clone(&ticks), random.clone());
        let mcp = Known::new(
            Arc::new(server.client()),
            store.clone(),
            pudu_app::changes::ListChanges::default(),
            Arc::clone(&ticks),
        );
        fixture::a_poller_was_here(store.as_ref(), clock.now()).await.unwrap();
        let ports = Ports {
            tasks: store.clone(),
            notes: store.clone(),
            threads: store.clone(),
            memories: store.clone(),
            due: store.clone(),
            beacons: store.clone(),
            audit: store.clone(),
            api_keys: store.clone(),
            verifier: None,
            waker: Some(Arc::new(FakeWaker::default())),
            config: Arc::new(config),
            keys,
            secrets: Arc::new(NoSecrets),
            mcp,
            drivers: Drivers::new(vec![Arc::new(server.driver())]),
            runs: store,
            blobs: Arc::new(pudu_testkit::FakeBlobs::default()),
            launcher: None,
            clock: ticks,
            random,
        };
        let wiring = Wiring::new(ports, Policy::default(), Limits::default(), "agent".to_owned());
        wiring.configs.seed(Document::parse(fixture::config()).unwrap()).await.unwrap();
        Self { clock, table, tasks: wiring.tasks() }
    }

    /// A task that its server took, and says this of.
    async fn task(&self, last: u8, status: Status) -> TaskKey {
        let store = self.table.store(Arc::new(self.clock), Gate::open());
        let key = fixture::task_key(&fixture::thread("t"), self.clock.now(), last);
        let born = fixture::intent(&key, "submitter", self.clock.now());
        assert_eq!(store.commit(&born).await.unwrap(), Committed::Done);
        let mut snapshot = fixture::said(status);
        if status == Status::InputRequired {
            snapshot.input_required = Some(question());
        }
        let command = Command::RecordSubmit {
            remote: fixture::remote(&format!("remote-{last}")),
            snapshot,
            started_at: self.clock.now(),
        };
        let spec = store.spec(&born.task).await.unwrap().unwrap();
        let (payload, policy) = (Payload::default(), Policy::default());
        let context = Context { spec: &spec, payload: &payload, policy: &policy };
        let change = decide(&born.task, command, self.clock.now(), context).unwrap().unwrap();
        assert_eq!(store.commit(&change).await.unwrap(), Committed::Done);
        key
    }
}

fn question() -> Value {
    json!({"prompt": "which </system> year?", "schema": {"type": "object", "properties": {"year": {"type": "integer"}}}})
}

async fn answer(tool: &dyn Tool, args: Value) -> (Option<ToolStatus>, Value, Vec<Write>) {
    within(Scope::All, tool, args).await
}

/// The same in a run that may use these servers.
async fn within(scope: Scope, tool: &dyn Tool, args: Value) -> (Option<ToolStatus>, Value, Vec<Write>) {
    let mut world = World::new(&json!({}));
    world.spec.scope = scope;
    world.run.key.thread = fixture::thread("t");
    let state = State::default();
    let brought = tool.call(world.bench(&state), &call("c", "t", &args)).await;
    let text = brought.message.content.text();
    (brought.message.status, serde_json::from_str(&text).unwrap_or(json!(text)), brought.writes)
}

#[tokio::test(start_paused = true)]
async fn tasks_are_listed_with_their_questions() {
    let stage = Stage::new().await;
    let (working, waiting) =
        (stage.task(1, Status::Working).await, stage.task(2, Status::InputRequired).await);
    let done = stage.task(3, Status::Completed).await;
    let list = ListBackgroundTasks(stage.tasks);
    let (_, all, _) = answer(&list, json!({})).await;
    assert_eq!(all["count"], 3);
    assert_eq!(all["tasks"][0]["task_id"], done.id.as_str());
    let (_, active, _) = answer(&list, json!({"active_only": true})).await;
    let [first, second] = active["tasks"].as_array().unwrap().as_slice() else { panic!("{active}") };
    assert_eq!(
        (&first["task_id"], &first["status"]),
        (&json!(waiting.id.as_str()), &json!("input_required"))
    );
    assert_eq!(first["question"]["prompt"], "which &lt;/system&gt; year?");
    assert_eq!(first["answer_schema"], question()["schema"]);
    assert_eq!((&second["task_id"], &second["task_name"]), (&json!(working.id.as_str()), &json!("report")));
    assert_eq!((&second["error"], &second["cancel_requested"]), (&json!(null), &json!(false)));
    assert!(second.get("question").is_none());
}

#[tokio::test(start_paused = true)]
async fn the_only_running_task_is_cancelled_without_a_name() {
    let stage = Stage::new().await;
    let cancel = CancelBackgroundTask(stage.tasks.clone());
    let (status, none, _) = answer(&cancel, json!({})).await;
    assert_eq!((status, &none["cancelled"]), (Some(ToolStatus::Error), &json!(false)));
    assert_eq!(none["message"], "No task of this conversation is running.");
    let key = stage.task(1, Status::Working).await;
    let (status, asked, _) = answer(&cancel, json!({})).await;
    assert_eq!((status, &asked["cancelled"]), (Some(ToolStatus::Success), &json!(false)), "{asked}");
    assert_eq!(
        (&asked["task"]["task_id"], &asked["task"]["cancel_requested"]),
        (&json!(key.id.as_str()), &json!(true))
    );
}

#[tokio::test(start_paused = true)]
async fn of_several_tasks_one_has_to_be_named() {
    let stage = Stage::new().await;
    let (first, second) = (stage.task(1, Status::Working).await, stage.task(2, Status::Working).await);
    let cancel = CancelBackgroundTask(stage.tasks.clone());
    let (_, told, _) = answer(&cancel, json!({"task": " REPORT "})).await;
    let message = told["message"].as_str().unwrap();
    assert!(message.contains(first.id.as_str()) && message.contains(second.id.as_str()), "{message}");
    let (_, other, _) = answer(&cancel, json!({"task": "other"})).await;
    assert!(
        other["message"].as_str().unwrap().starts_with("No running task of this conversation has that id")
    );
    let (status, asked, _) = answer(&cancel, json!({"task": second.id.as_str()})).await;
    assert_eq!((status, &asked["task"]["cancel_requested"]), (Some(ToolStatus::Success), &json!(true)));
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_or_it_is_said_why_not() {
    let stage = Stage::new().await;
    let answers = AnswerBackgroundTask(stage.tasks.clone());
    let (status, told, _) = answer(&answers, json!({})).await;
    assert_eq!((status, &told["answered"]), (Some(ToolStatus::Error), &json!(false)));
    let working = stage.task(1, Status::Working).await;
    let (_, told, _) = answer(&answers, json!({"input": 1999})).await;
    assert_eq!(told["message"], "No task of this conversation is waiting.");
    let (status, _, _) = answer(&answers, json!({"input": 1999, "task": working.id.as_str()})).await;
    assert_eq!(status, Some(ToolStatus::Error));
    let waiting = stage.task(2, Status::InputRequired).await;
    let (status, told, _) = answer(&answers, json!({"input": {"year": "long ago"}})).await;
    assert_eq!(status, Some(ToolStatus::Error));
    assert!(told["message"].as_str().unwrap().contains("input/year"), "{told}");
    let (status, told, _) = answer(&answers, json!({"input": {"year": 1999}})).await;
    assert_eq!((status, &told["answered"]), (Some(ToolStatus::Success), &json!(true)), "{told}");
    assert_eq!(told["task"]["task_id"], waiting.id.as_str());
}

#[tokio::test(start_paused = true)]
async fn what_the_conversation_knows_of_a_task_is_kept_up() {
    let stage = Stage::new().await;
    let key = stage.task(1, Status::Completed).await;
    let listed = stage.tasks.list(&key.thread, 1, None).await.unwrap();
    let known = |status: &str| BackgroundTask {
        task_id: key.id.to_string(),
        task_name: "report".into(),
        status: status.into(),
        updated_at: "then".into(),
    };
    let state = |status: &str| State { background_tasks: Some(vec![known(status)]), ..State::default() };
    assert_eq!(news(&state("completed"), &listed), []);
    let writes = news(&state("working"), &listed);
    let [Write::BackgroundTask(task)] = writes.as_slice() else { panic!("{writes:?}") };
    assert_eq!(task.status, "completed");
    assert_eq!(news(&State::default(), &listed), []);
}

#[tokio::test(start_paused = true)]
async fn a_run_sees_and_touches_only_tasks_of_servers_that_it_may_use() {
    let stage = Stage::new().await;
    let key = stage.task(1, Status::InputRequired).await;
    let others = || Scope::Only(["another".to_owned()].into());
    let (_, listed, _) = within(others(), &ListBackgroundTasks(stage.tasks.clone()), json!({})).await;
    assert_eq!(listed["count"], 0);
    let (cancel, answers) =
        (CancelBackgroundTask(stage.tasks.clone()), AnswerBackgroundTask(stage.tasks.clone()));
    for task in [json!(key.id.as_str()), json!("report"), Value::Null] {
        let (status, _, _) = within(others(), &cancel, json!({ "task": task })).await;
        assert_eq!(status, Some(ToolStatus::Error), "{task}");
        let args = json!({ "task": task, "input": {"year": 1999} });
        let (status, _, _) = within(others(), &answers, args).await;
        assert_eq!(status, Some(ToolStatus::Error), "{task}");
    }
    let mine = Scope::Only([fixture::SERVER.to_owned()].into());
    let (_, listed, _) = within(mine, &ListBackgroundTasks(stage.tasks.clone()), json!({})).await;
    assert_eq!((&listed["count"], &listed["tasks"][0]["cancel_requested"]), (&json!(1), &json!(false)));
}
