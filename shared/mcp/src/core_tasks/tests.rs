use pudu_app::ports::CallFault;
use pudu_config::NoSecrets;

use super::*;
use crate::told::tests::{Scripted, caller, fault, rpc, said, server};

const LIMIT: Duration = Duration::from_secs(1);

fn driver(client: &Arc<Scripted>) -> CoreTasks {
    CoreTasks::new(Arc::<Scripted>::clone(client), Arc::new(NoSecrets))
}

fn data() -> Value {
    json!({"tool": "research"})
}

fn remote() -> RemoteTaskId {
    RemoteTaskId::parse("r1").unwrap()
}

fn task(fields: Value) -> Value {
    let mut task = json!({"taskId": "r1", "status": "working", "ttl": 300_000});
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    task.as_object_mut().unwrap().extend(fields);
    task
}

/// Submits on a server of this type, whose second session answers with `reply`.
async fn submitted(
    kind: &str,
    answer: Result<Value, CallError>,
    reply: Option<Result<TaskReply, CallError>>,
) -> Result<Submitted, SubmitError> {
    let client = Arc::new(Scripted {
        calls: std::sync::Mutex::new([answer].into()),
        replies: std::sync::Mutex::new(reply.into_iter().collect()),
        ..Scripted::default()
    });
    let outcome = driver(&client).submit(&server(kind), &caller(), &data(), Map::new(), LIMIT).await;
    assert_eq!(client.called.lock().unwrap()[0].tasks, Some(TaskProtocol::Core));
    assert!(client.replies.lock().unwrap().is_empty(), "the second session was asked");
    outcome
}

#[tokio::test]
async fn a_call_is_answered_with_a_task_or_with_its_result() {
    let created = json!({"task": task(json!({"pollInterval": 1000}))});
    let snapshot = Snapshot { poll_after: Some(Duration::from_secs(1)), ..Snapshot::bare(Status::Submitted) };
    let task = Submitted::Task(Submission { remote: remote(), snapshot });
    assert_eq!(submitted("stdio", Ok(created), None).await, Ok(task));
    for result in [json!({"content": []}), json!({"content": [], "task": "a word of the tool's own"})] {
        assert_eq!(submitted("stdio", Ok(result.clone()), None).await, Ok(Submitted::Answered(result)));
    }
    let refused = submitted("stdio", Err(fault(CallFault::Refused)), None).await;
    assert_eq!(refused, Err(SubmitError::Call(fault(CallFault::Refused))));
}

#[tokio::test]
async fn over_http_a_task_must_outlive_the_session_that_began_it() {
    let created = || Ok(json!({"task": task(json!({}))}));
    for kind in ["http", "sse"] {
        let kept = submitted(kind, created(), Some(said(task(json!({}))))).await;
        assert!(matches!(kept, Ok(Submitted::Task(_))), "{kept:?}");
        // It cannot be told: the polls will see.
        let unsure = submitted(kind, created(), Some(Err(fault(CallFault::Timeout)))).await;
        assert!(matches!(unsure, Ok(Submitted::Task(_))), "{unsure:?}");
        match submitted(kind, created(), Some(rpc(-32602))).await {
            Err(SubmitError::Unknown(message)) => assert!(message.contains("over stdio"), "{message}"),
            other => panic!("{other:?}"),
        }
    }
}

/// Field by field: a handle that can be read is what a broken submission is undone by.
#[tokio::test]
async fn a_new_task_is_read_strictly() {
    for (field, bad, undone) in [
        ("taskId", json!(null), false),
        ("taskId", json!(7), false),
        ("taskId", json!("x".repeat(256)), true),
        ("status", json!("running"), true),
        ("status", json!(null), true),
        ("ttl", json!("300000"), true),
        ("pollInterval", json!("1000"), true),
        ("pollInterval", json!(-1), true),
    ] {
        let mut fields = Map::new();
        fields.insert(field.to_owned(), bad.clone());
        let created = json!({"task": task(Value::Object(fields))});
        match submitted("stdio", Ok(created), None).await {
            Err(SubmitError::Violation { handle, .. }) => {
                let expected = if field == "taskId" { bad.as_str() } else { Some("r1") };
                assert_eq!((undone, handle.as_deref()), (true, expected), "{field} {bad}");
            }
            Err(SubmitError::Unknown(message)) => assert!(!undone && message.contains(field), "{message}"),
            other => panic!("{field} {bad}: {other:?}"),
        }
    }
}

/// Polls a server with these replies; the second is to `tasks/result`.
async fn polled(
    replies: impl IntoIterator<Item = Result<TaskReply, CallError>>,
    methods: &[&str],
) -> Result<Snapshot, DriverError> {
    let client = Scripted::replying(replies);
    let answer = driver(&client).status(&server("stdio"), &caller(), &data(), &remote(), LIMIT).await;
    let asked = client.asked.lock().unwrap();
    assert_eq!(asked.iter().map(|(method, ..)| *method).collect::<Vec<_>>(), methods);
    assert!(asked.iter().all(|(_, params, tool)| *params == json!({"taskId": "r1"}) && tool == "research"));
    answer
}

#[tokio::test]
async fn each_status_brings_what_belongs_to_it() {
    const GET: &[&str] = &["tasks/get"];
    const BOTH: &[&str] = &["tasks/get", "tasks/result"];
    assert_eq!(polled([said(task(json!({})))], GET).await, Ok(Snapshot::bare(Status::Working)));
    let cancelled = polled([said(task(json!({"status": "cancelled"})))], GET).await;
    assert_eq!(cancelled, Ok(Snapshot::bare(Status::Cancelled)));
    let asks =
        polled([said(task(json!({"status": "input_required", "statusMessage": "which?"})))], GET).await;
    let question = Some(json!({"message": "which?"}));
    assert_eq!(asks, Ok(Snapshot { input_required: question, ..Snapshot::bare(Status::InputRequired) }));

    let completed = || said(task(json!({"status": "completed"})));
    let result = json!({"content": [{"type": "text", "text": "done"}], "unknown": 1});
    assert_eq!(
        polled([completed(), said(result.clone())], BOTH).await,
        Ok(Snapshot { result: Some(result), ..Snapshot::bare(Status::Completed) })
    );
    let failed = || said(task(json!({"status": "failed"})));
    let result =
        json!({"isError": true, "content": [{"type": "image"}, {"type": "text", "text": " no data "}]});
    let told = Snapshot {
        result: Some(result.clone()),
        error: Some("no data".into()),
        ..Snapshot::bare(Status::Failed)
    };
    assert_eq!(polled([failed(), said(result)], BOTH).await, Ok(told));
    // What its call would have been answered with.
    let error = Some("why".to_owned());
    assert_eq!(
        polled([failed(), rpc(-32603)], BOTH).await,
        Ok(Snapshot { error, ..Snapshot::bare(Status::Failed) })
    );

    let gone =
        Snapshot { error: Some("the remote task was not found".into()), ..Snapshot::bare(Status::Failed) };
    assert_eq!(polled([rpc(-32602)], GET).await, Ok(gone.clone()));
    assert_eq!(polled([completed(), rpc(-32602)], BOTH).await, Ok(gone));
    let retry = Err(DriverError::Retry("server 'peer': why".into()));
    assert_eq!(polled([rpc(-32603)], GET).await, retry);
    assert_eq!(polled([completed(), rpc(-32603)], BOTH).await, retry);
    assert_eq!(polled([failed(), Err(fault(CallFault::Timeout))], BOTH).await, retry);
}

/// Field by field: each of these ends the task.
#[tokio::test]
async fn vector_71_what_breaks_the_protocol_ends_the_task() {
    for (fields, named) in [
        (json!({"taskId": null}), "taskId"),
        (json!({"taskId": "r2"}), "taskId"),
        (json!({"taskId": 1}), "taskId"),
        (json!({"status": "submitted"}), "status"),
        (json!({"status": null}), "status"),
        (json!({"ttl": "300000"}), "ttl"),
        (json!({"pollInterval": "1000"}), "pollInterval"),
        (json!({"pollInterval": 0.5}), "pollInterval"),
        (json!({"statusMessage": {}}), "statusMessage"),
    ] {
        match polled([said(task(fields.clone()))], &["tasks/get"]).await {
            Err(DriverError::Violation(message)) => assert!(message.contains(named), "{fields}: {message}"),
            other => panic!("{fields}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_cancel_answers_the_end_or_that_the_next_poll_sees_it() {
    let cancel = async |reply| {
        let client = Scripted::replying([reply]);
        driver(&client).cancel(&server("stdio"), &caller(), &data(), "r1", LIMIT).await
    };
    let cancelled = Snapshot::bare(Status::Cancelled);
    assert_eq!(cancel(said(task(json!({"status": "cancelled"})))).await, Ok(Cancelled::Snapshot(cancelled)));
    // It had ended before, or goes on for a while.
    for reply in [rpc(-32602), said(task(json!({"status": "completed"}))), said(task(json!({})))] {
        assert_eq!(cancel(reply).await, Ok(Cancelled::Acknowledged));
    }
    let other = cancel(said(task(json!({"taskId": "r2", "status": "cancelled"})))).await;
    assert!(matches!(other, Err(DriverError::Violation(_))), "{other:?}");
    assert_eq!(cancel(rpc(-32601)).await, Err(DriverError::Retry("server 'peer': why".into())));
}

#[tokio::test]
async fn nobody_can_answer_its_questions() {
    let client = Scripted::replying([]);
    let why = driver(&client).question(&data(), &json!({"message": "which?"})).unwrap_err();
    assert!(why.to_string().contains("2025-11-25"));
    let answer = driver(&client)
        .answer(&server("stdio"), &caller(), &data(), &remote(), &json!({}), &json!({}), LIMIT)
        .await;
    assert_eq!(answer, Err(AnswerError::Refused(why.to_string())));
}
