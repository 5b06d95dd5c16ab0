//! The remote world: tasks live by their plans, and the ledger shows what was asked.

use std::sync::Arc;
use std::time::Duration;

use pudu_app::ports::{
    Caller, Cancelled, DriverError, McpClient, SubmitError, Submitted, TaskDriver, ToolCall,
};
use pudu_domain::Status;
use serde_json::{Map, Value, json};

use crate::clock::VirtualClock;
use crate::fixture::{CANCEL_TOOL, INPUT_TOOL, STATUS_TOOL, SUBMIT_TOOL, server};
use crate::random::SeededRandom;
use crate::server::{FakeServer, OnCancel, Plan, Question, Request};

const LIMIT: Duration = Duration::from_secs(60);

fn caller() -> Caller {
    Caller::of(crate::fixture::thread("t"))
}

fn asked(tool: &str, arguments: Map<String, Value>) -> ToolCall {
    ToolCall::plain(tool, arguments)
}

fn at_server(plan: Plan) -> FakeServer {
    FakeServer::new(Arc::new(VirtualClock::start()), move |_| plan.clone())
}

async fn submitted(remote: &FakeServer) -> pudu_domain::RemoteTaskId {
    let mut arguments = Map::new();
    arguments.insert("mark".into(), json!(7));
    let submission =
        remote.driver().submit(&server(), &caller(), &Value::Null, arguments, LIMIT).await.unwrap();
    let Submitted::Task(submission) = submission else { panic!("no task: {submission:?}") };
    assert_eq!(submission.snapshot.status, Status::Submitted);
    submission.remote
}

async fn status(remote: &FakeServer, handle: &pudu_domain::RemoteTaskId) -> Status {
    remote.driver().status(&server(), &caller(), &Value::Null, handle, LIMIT).await.unwrap().status
}

#[tokio::test(start_paused = true)]
async fn a_task_lives_by_its_plan() {
    let ask = |from, until| Question {
        from: Duration::from_secs(from),
        until: Duration::from_secs(until),
        text: "which year?".into(),
    };
    let remote =
        at_server(Plan { questions: vec![ask(2, 4)], ..Plan::completes_after(Duration::from_secs(6)) });
    let handle = submitted(&remote).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(status(&remote, &handle).await);
        tokio::time::advance(Duration::from_secs(2)).await;
    }
    assert_eq!(seen, [Status::Working, Status::InputRequired, Status::Working, Status::Completed]);
    assert_eq!(remote.tasks()[0].arguments.get("mark"), Some(&json!(7)));
    let asked: Vec<_> = remote.log().into_iter().map(|asked| (asked.what, asked.answer)).collect();
    assert_eq!(asked[0], (Request::Submit, Some(Status::Submitted)));
    assert_eq!(asked[4], (Request::Status, Some(Status::Completed)));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_is_acknowledged_or_refused() {
    let cases = [
        (OnCancel::Ends, Some(Status::Cancelled), Status::Cancelled),
        (OnCancel::Acknowledges, Some(Status::Working), Status::Working),
        (OnCancel::Refuses, None, Status::Working),
    ];
    for (on_cancel, answer, after) in cases {
        let remote = at_server(Plan { on_cancel, ..Plan::completes_after(Duration::from_secs(6)) });
        let handle = submitted(&remote).await;
        let cancel = remote.driver().cancel(&server(), &caller(), &Value::Null, handle.as_str(), LIMIT).await;
        let said = cancel.ok().map(|said| match said {
            Cancelled::Snapshot(snapshot) => snapshot.status,
            Cancelled::Acknowledged => Status::Working,
        });
        assert_eq!(said, answer);
        assert_eq!(status(&remote, &handle).await, after);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_down_answers_nothing_and_starts_nothing() {
    let remote = at_server(Plan::completes_after(Duration::from_secs(6)));
    let handle = submitted(&remote).await;
    remote.set_down(true);
    let refused = remote.driver().submit(&server(), &caller(), &Value::Null, Map::new(), LIMIT).await;
    assert!(matches!(refused, Err(SubmitError::Refused(_))));
    let answer = remote.driver().status(&server(), &caller(), &Value::Null, &handle, LIMIT).await;
    assert!(matches!(answer, Err(DriverError::Retry(_))));
    remote.set_down(false);
    assert_eq!((remote.tasks().len(), status(&remote, &handle).await), (1, Status::Working));
}

/// Reference 6.10, on the level of results.
#[tokio::test(start_paused = true)]
async fn the_same_world_speaks_the_ordinary_toolset() {
    let plan =
        Plan { nonsense_at: Some(1), hint: Some(Duration::from_secs(9)), ..Plan::completes_after(LIMIT) };
    let client = at_server(plan).client();
    let call = async |tool, arguments: Value| {
        client
            .call_tool(&server(), &caller(), asked(tool, arguments.as_object().unwrap().clone()), LIMIT)
            .await
            .unwrap()
    };
    let tools = client.list_tools(&server(), LIMIT).await.unwrap().tools;
    assert_eq!(
        tools.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(),
        ["echo", SUBMIT_TOOL, STATUS_TOOL, CANCEL_TOOL, INPUT_TOOL]
    );
    let submitted = call(SUBMIT_TOOL, json!({})).await["structuredContent"].clone();
    assert_eq!(submitted["status"], "running");
    let handle = json!({"task_id": submitted["task_id"]});
    let working = call(STATUS_TOOL, handle.clone()).await["structuredContent"].clone();
    assert_eq!(working, json!({"task_id": "remote-0", "status": "running", "poll_after_seconds": 9.0}));
    let nonsense = call(STATUS_TOOL, handle.clone()).await;
    assert_eq!(nonsense["structuredContent"]["task_id"], "not-remote-0");
    assert_eq!(call(CANCEL_TOOL, handle).await["structuredContent"]["status"], "cancelled");
    let lost = call(STATUS_TOOL, json!({"task_id": "x"})).await;
    assert_eq!(lost["structuredContent"]["error_code"], "task_not_found");
    assert!(client.call_tool(&server(), &caller(), asked("no_tool", Map::new()), LIMIT).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn drawn_plans_end_in_time_and_differ() {
    let random = SeededRandom::new(1);
    let plans: Vec<_> = (0..200).map(|_| Plan::drawn(&random, LIMIT)).collect();
    assert!(plans.iter().all(|plan| plan.runs_for <= LIMIT && plan.end.is_terminal()));
    for end in [Status::Completed, Status::Failed, Status::Cancelled] {
        assert!(plans.iter().any(|plan| plan.end == end));
    }
    assert!(
        plans.iter().any(|plan| plan.questions.len() == 2)
            && plans.iter().any(|plan| plan.nonsense_at.is_some())
    );
    let again = SeededRandom::new(1);
    assert_eq!(plans, (0..200).map(|_| Plan::drawn(&again, LIMIT)).collect::<Vec<_>>());
}
