use pudu_app::ports::{CallFault, Submission};

use super::*;
use crate::redact::Redactor;
use crate::told::tests::{Scripted, caller, fault, rpc, said, server};
use pudu_config::NoSecrets;

const LIMIT: Duration = Duration::from_secs(1);

fn driver(client: &Arc<Scripted>) -> McpTasks {
    McpTasks::new(Arc::<Scripted>::clone(client), Arc::new(NoSecrets))
}

fn data() -> Value {
    json!({"tool": "research"})
}

fn remote() -> RemoteTaskId {
    RemoteTaskId::parse("r1").unwrap()
}

async fn submitted(answer: Result<Value, CallError>) -> Result<Submitted, SubmitError> {
    let client = Scripted::called_with(answer);
    let arguments = Map::from_iter([("topic".to_owned(), json!("deer"))]);
    let outcome = driver(&client).submit(&server("http"), &caller(), &data(), arguments.clone(), LIMIT).await;
    let called = client.called.lock().unwrap();
    assert_eq!(called.len(), 1, "sent once");
    assert_eq!((called[0].tool.as_str(), &called[0].arguments), ("research", &arguments));
    assert_eq!(called[0].tasks, Some(TaskProtocol::Extension));
    outcome
}

fn state(fields: Value) -> Result<Snapshot, String> {
    let mut task = json!({"resultType": "complete", "taskId": "r1", "status": "working", "ttlMs": null});
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    task.as_object_mut().unwrap().extend(fields);
    state::read(&task, "r1", &Redactor::default())
}

#[tokio::test]
async fn a_call_is_answered_with_a_task_or_with_its_result() {
    let created = json!({"resultType": "task", "taskId": "r1", "status": "working", "ttlMs": null, "pollIntervalMs": 250});
    let snapshot =
        Snapshot { poll_after: Some(Duration::from_millis(250)), ..Snapshot::bare(Status::Submitted) };
    let task = Submitted::Task(Submission { remote: remote(), snapshot });
    assert_eq!(submitted(Ok(created)).await, Ok(task));
    for result in [
        json!({"content": [], "unknown": 1}),
        json!({"content": [], "isError": true}),
        json!({"resultType": "complete", "taskId": "no handle of ours"}),
        // A question of a plain call goes back to its caller as it is.
        json!({"resultType": "input_required", "inputRequests": {}}),
    ] {
        assert_eq!(submitted(Ok(result.clone())).await, Ok(Submitted::Answered(result)));
    }
    assert_eq!(
        submitted(Err(fault(CallFault::Refused))).await,
        Err(SubmitError::Call(fault(CallFault::Refused)))
    );
    let unknown = submitted(Err(fault(CallFault::Broken))).await;
    assert_eq!(unknown, Err(SubmitError::Unknown("server 'peer': why".into())));
}

/// Field by field: a handle that can be read is what a broken submission is undone by.
#[tokio::test]
async fn a_new_task_is_read_strictly() {
    let good = json!({"resultType": "task", "taskId": "r1", "status": "working", "ttlMs": 1000});
    for (field, bad, undone) in [
        ("taskId", json!(null), false),
        ("taskId", json!(""), false),
        ("taskId", json!(7), false),
        ("taskId", json!("x".repeat(256)), true),
        ("status", json!(null), true),
        ("status", json!("running"), true),
        ("status", json!(1), true),
        ("ttlMs", json!("1000"), true),
        ("ttlMs", json!(-1), true),
        ("pollIntervalMs", json!("5"), true),
        ("pollIntervalMs", json!(0.5), true),
    ] {
        let mut task = good.clone();
        task[field] = bad.clone();
        match submitted(Ok(task)).await {
            Err(SubmitError::Violation { handle, .. }) => {
                let expected = if field == "taskId" { bad.as_str() } else { Some("r1") };
                assert_eq!((undone, handle.as_deref()), (true, expected), "{field} {bad}");
            }
            Err(SubmitError::Unknown(message)) => assert!(!undone && message.contains(field), "{message}"),
            other => panic!("{field} {bad}: {other:?}"),
        }
    }
}

#[test]
fn each_status_brings_what_belongs_to_it() {
    assert_eq!(state(json!({})), Ok(Snapshot::bare(Status::Working)));
    assert_eq!(state(json!({"status": "cancelled"})), Ok(Snapshot::bare(Status::Cancelled)));
    let result = json!({"content": [], "isError": true, "unknown": [1]});
    let completed = state(json!({"status": "completed", "result": result, "error": {}, "inputRequests": 7}));
    assert_eq!(completed, Ok(Snapshot { result: Some(result), ..Snapshot::bare(Status::Completed) }));
    let failed = state(json!({"status": "failed", "error": {"code": -32603, "message": "no data"}}));
    assert_eq!(failed, Ok(Snapshot { error: Some("no data".into()), ..Snapshot::bare(Status::Failed) }));
    let asked = json!({"a": {"method": "elicitation/create"}, "b": 1});
    let waiting = state(json!({"status": "input_required", "inputRequests": asked, "pollIntervalMs": 100}));
    let expected = Snapshot {
        input_required: Some(asked),
        poll_after: Some(Duration::from_millis(100)),
        ..Snapshot::bare(Status::InputRequired)
    };
    assert_eq!(waiting, Ok(expected));
    // All is answered, and the server has not gone on yet.
    assert_eq!(
        state(json!({"status": "input_required", "inputRequests": {}})),
        Ok(Snapshot::bare(Status::Working))
    );
}

#[test]
fn a_hint_is_taken_as_it_is_each_time_and_ends_with_the_task() {
    let pause = |fields: Value| state(fields).unwrap().poll_after.map(|pause| pause.as_millis());
    assert_eq!(pause(json!({"pollIntervalMs": 5000})), Some(5000));
    assert_eq!(pause(json!({"pollIntervalMs": 1})), Some(1));
    assert_eq!(pause(json!({"pollIntervalMs": 0})), None);
    assert_eq!(pause(json!({"pollIntervalMs": 3_600_000, "ttlMs": 60_000})), Some(30_000));
    assert_eq!(pause(json!({"ttlMs": 60_000})), None);
}

/// Field by field: each of these ends the task.
#[test]
fn vector_71_what_breaks_the_protocol_is_an_error_that_names_the_field() {
    for (fields, named) in [
        (json!({"taskId": null}), "taskId"),
        (json!({"taskId": "r2"}), "taskId"),
        (json!({"taskId": 1}), "taskId"),
        (json!({"status": null}), "status"),
        (json!({"status": "running"}), "status"),
        (json!({"status": ["working"]}), "status"),
        (json!({"resultType": "task"}), "resultType"),
        (json!({"resultType": 1}), "resultType"),
        (json!({"pollIntervalMs": "5000"}), "pollIntervalMs"),
        (json!({"pollIntervalMs": -1}), "pollIntervalMs"),
        (json!({"ttlMs": "60000"}), "ttlMs"),
        (json!({"ttlMs": 0.25}), "ttlMs"),
        (json!({"statusMessage": 1}), "statusMessage"),
        (json!({"status": "completed"}), "result"),
        (json!({"status": "completed", "result": "text"}), "result"),
        (json!({"status": "completed", "result": null}), "result"),
        (json!({"status": "failed"}), "error"),
        (json!({"status": "failed", "error": "no data"}), "error"),
        (json!({"status": "failed", "error": {"code": "1", "message": "m"}}), "error"),
        (json!({"status": "failed", "error": {"code": 1}}), "error"),
        (json!({"status": "input_required"}), "inputRequests"),
        (json!({"status": "input_required", "inputRequests": []}), "inputRequests"),
    ] {
        let message = state(fields.clone()).unwrap_err();
        assert!(message.contains(named), "{fields}: {message}");
    }
}

#[tokio::test]
async fn a_poll_asks_with_the_handle_and_tells_ends_from_hiccups() {
    let ask = async |reply| {
        let client = Scripted::replying([reply]);
        let answer = driver(&client).status(&server("http"), &caller(), &data(), &remote(), LIMIT).await;
        let asked = client.asked.lock().unwrap().clone();
        assert_eq!(asked, [("tasks/get", json!({"taskId": "r1"}), "research".to_owned())]);
        answer
    };
    let working = said(json!({"taskId": "r1", "status": "working"}));
    assert_eq!(ask(working).await, Ok(Snapshot::bare(Status::Working)));
    // Its time is over, or the server never knew it.
    for code in [-32602, -32002] {
        let gone = Snapshot {
            error: Some("the remote task was not found".into()),
            ..Snapshot::bare(Status::Failed)
        };
        assert_eq!(ask(rpc(code)).await, Ok(gone));
    }
    let retry = || Err(DriverError::Retry("server 'peer': why".into()));
    for code in [-32603, -32601, -32021, -32000] {
        assert_eq!(ask(rpc(code)).await, retry());
    }
    assert_eq!(ask(Err(fault(CallFault::Timeout))).await, retry());
    let other = ask(said(json!({"taskId": "r2", "status": "working"}))).await;
    assert!(matches!(other, Err(DriverError::Violation(message)) if message.contains("taskId")));
}

#[tokio::test]
async fn a_final_result_is_held_to_what_its_tool_declares() {
    for (of, broken) in [(CallFault::Violation, true), (CallFault::Broken, false)] {
        let completed = said(json!({"taskId": "r1", "status": "completed", "result": {"content": []}}));
        let client = Arc::new(Scripted {
            misfit: Some(fault(of)),
            ..Arc::into_inner(Scripted::replying([completed])).unwrap()
        });
        let answer = driver(&client).status(&server("http"), &caller(), &data(), &remote(), LIMIT).await;
        let text = "server 'peer': why".to_owned();
        let expected = if broken { DriverError::Violation(text) } else { DriverError::Retry(text) };
        assert_eq!(answer, Err(expected));
    }
}

#[tokio::test]
async fn a_cancel_is_acknowledged_and_nothing_more() {
    let cancel = async |reply| {
        let client = Scripted::replying([reply]);
        let answer = driver(&client).cancel(&server("http"), &caller(), &data(), "any handle", LIMIT).await;
        let asked = client.asked.lock().unwrap().clone();
        assert_eq!(asked, [("tasks/cancel", json!({"taskId": "any handle"}), "research".to_owned())]);
        answer
    };
    for reply in [said(json!({"resultType": "complete"})), said(json!({"status": "cancelled"})), rpc(-32602)]
    {
        assert_eq!(cancel(reply).await, Ok(Cancelled::Acknowledged));
    }
    let retry = Err(DriverError::Retry("server 'peer': why".into()));
    assert_eq!(cancel(rpc(-32603)).await, retry);
    assert_eq!(cancel(Err(fault(CallFault::NotSent))).await, retry);
}

#[tokio::test]
async fn an_answer_is_handed_over_whole_and_refused_only_for_what_it_is() {
    let given = json!({"a": {"action": "accept", "content": {"year": 2026}}});
    let answer = async |reply| {
        let client = Scripted::replying([reply]);
        let outcome = driver(&client)
            .answer(&server("http"), &caller(), &data(), &remote(), &json!({}), &given, LIMIT)
            .await;
        let asked = client.asked.lock().unwrap().clone();
        let params = json!({"taskId": "r1", "inputResponses": given});
        assert_eq!(asked, [("tasks/update", params, "research".to_owned())]);
        outcome
    };
    assert_eq!(answer(said(json!({"resultType": "complete"}))).await, Ok(()));
    let text = || "server 'peer': why".to_owned();
    assert_eq!(answer(rpc(-32602)).await, Err(AnswerError::Refused(text())));
    assert_eq!(answer(rpc(-32603)).await, Err(AnswerError::Retry(text())));
    assert_eq!(answer(Err(fault(CallFault::Timeout))).await, Err(AnswerError::Retry(text())));
}

fn form(schema: &Value) -> Value {
    json!({"method": "elicitation/create", "params": {"message": "which?", "requestedSchema": schema}})
}

#[test]
fn a_question_takes_one_answer_for_each_of_its_forms() {
    let year = json!({"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]});
    let asked = json!({"a": form(&year), "b": form(&json!({"type": "object"}))});
    let schema = question::schema(&asked).unwrap();
    let fits = |answer: Value| jsonschema::is_valid(&schema, &answer);
    let decline = json!({"action": "decline"});
    assert!(fits(json!({"a": {"action": "accept", "content": {"year": 2026}}, "b": decline})));
    assert!(fits(json!({ "a": decline })), "the others are asked for again");
    assert!(fits(json!({"a": {"action": "cancel"}, "b": {"action": "accept", "content": {}}})));
    for bad in [
        json!({}),
        json!({"a": decline, "b": decline, "c": decline}),
        json!({"a": {"action": "accept"}, "b": decline}),
        json!({"a": {"action": "accept", "content": {"year": "2026"}}, "b": decline}),
        json!({"a": {"action": "decline", "content": {}}, "b": decline}),
        json!({"a": {"action": "perhaps"}, "b": decline}),
        json!({"a": {}, "b": decline}),
        json!({"a": "2026", "b": decline}),
    ] {
        assert!(!fits(bad.clone()), "{bad}");
    }
}

#[test]
fn what_is_no_form_is_answered_elsewhere_or_not_at_all() {
    let url = json!({"method": "elicitation/create", "params": {"mode": "url", "url": "http://x", "requestedSchema": {}}});
    for (asked, told) in [
        (json!({}), "nothing"),
        (json!("which?"), "nothing"),
        (json!({"a": {"method": "sampling/createMessage"}}), "sampling/createMessage"),
        (json!({"a": {"method": "roots/list"}}), "roots/list"),
        (json!({"a": form(&json!({})), "b": {"method": "roots/list"}}), "'b'"),
        (json!({"a": url}), "url"),
        (json!({"a": {"method": "elicitation/create"}}), "what an answer looks like"),
        (json!({"a": form(&json!("object"))}), "what an answer looks like"),
    ] {
        let why = question::schema(&asked).unwrap_err().to_string();
        assert!(why.contains(told), "{asked}: {why}");
    }
    let with_mode =
        json!({"a": {"method": "elicitation/create", "params": {"mode": "form", "requestedSchema": {}}}});
    assert!(question::schema(&with_mode).is_ok());
}
