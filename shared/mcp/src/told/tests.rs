//! Reading a task object, and a scripted server for the two drivers that do.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pudu_app::ports::{Caller, Listing, McpClient, TaskReply, TaskRequest, ToolCall};
use pudu_config::{Document, Server};
use pudu_domain::{ThreadId, ThreadKey, UserId};

use super::*;

/// Answers each call and each request about a task in turn, and remembers what was asked.
#[derive(Default)]
pub(crate) struct Scripted {
    pub(crate) calls: Mutex<VecDeque<Result<Value, CallError>>>,
    pub(crate) replies: Mutex<VecDeque<Result<TaskReply, CallError>>>,
    /// What is wrong with every result.
    pub(crate) misfit: Option<CallError>,
    pub(crate) called: Mutex<Vec<ToolCall>>,
    pub(crate) asked: Mutex<Vec<(&'static str, Value, String)>>,
}

impl Scripted {
    pub(crate) fn called_with(answer: Result<Value, CallError>) -> Arc<Self> {
        Arc::new(Self { calls: Mutex::new(VecDeque::from([answer])), ..Self::default() })
    }

    pub(crate) fn replying(replies: impl IntoIterator<Item = Result<TaskReply, CallError>>) -> Arc<Self> {
        Arc::new(Self { replies: Mutex::new(replies.into_iter().collect()), ..Self::default() })
    }
}

#[async_trait]
impl McpClient for Scripted {
    async fn list_tools(&self, _: &Server, _: Duration) -> Result<Listing, CallError> {
        panic!("no driver lists tools")
    }

    async fn call_tool(
        &self,
        _: &Server,
        _: &Caller,
        call: ToolCall,
        _: Duration,
    ) -> Result<Value, CallError> {
        self.called.lock().unwrap().push(call);
        self.calls.lock().unwrap().pop_front().expect("a call that is in the script")
    }

    async fn ask_task(
        &self,
        _: &Server,
        _: &Caller,
        request: TaskRequest,
        _: Duration,
    ) -> Result<TaskReply, CallError> {
        let TaskRequest { method, params, tool } = request;
        self.asked.lock().unwrap().push((method.as_str(), Value::Object(params), tool));
        self.replies.lock().unwrap().pop_front().expect("a request that is in the script")
    }

    async fn judge_result(&self, _: &Server, _: &str, _: &Value, _: Duration) -> Option<CallError> {
        self.misfit.clone()
    }
}

pub(crate) fn fault(fault: CallFault) -> CallError {
    CallError { server: "peer".into(), fault, message: "why".into() }
}

#[expect(clippy::unnecessary_wraps, reason = "a line of the script, which others of its lines break")]
pub(crate) fn rpc(code: i64) -> Result<TaskReply, CallError> {
    Ok(TaskReply::Error { code, error: fault(CallFault::Refused) })
}

#[expect(clippy::unnecessary_wraps, reason = "a line of the script, which others of its lines break")]
pub(crate) fn said(result: Value) -> Result<TaskReply, CallError> {
    Ok(TaskReply::Said(result))
}

pub(crate) fn server(kind: &str) -> Server {
    let entry = match kind {
        "stdio" => json!({"type": "stdio", "command": "server"}),
        _ => json!({"type": kind, "url": "http://localhost/"}),
    };
    Document::parse(json!({"mcpServers": {"peer": entry}})).unwrap().server("peer").unwrap().clone()
}

pub(crate) fn caller() -> Caller {
    Caller::background(ThreadKey {
        user: UserId::parse("local:default").unwrap(),
        thread: ThreadId::parse("t").unwrap(),
    })
}

fn told(task: &Value) -> Told<'_> {
    Told::of("tasks/get", task).unwrap()
}

/// Vector 69, for the fields of the specification: what only looks like a number is none.
#[test]
fn vector_69_milliseconds_are_whole_numbers_and_nothing_that_looks_like_one() {
    for (value, expected) in [
        (json!(0), Some(0)),
        (json!(1500), Some(1500)),
        (json!(1500.0), Some(1500)),
        (json!(u64::MAX), Some(u64::MAX)),
    ] {
        let task = json!({"ms": value});
        assert_eq!(told(&task).millis("ms").unwrap(), expected.map(Duration::from_millis), "{value}");
    }
    assert_eq!(told(&json!({"ms": 1e300})).millis("ms"), Ok(Some(Duration::MAX)));
    for none in [json!({}), json!({"ms": null})] {
        assert_eq!(told(&none).millis("ms"), Ok(None));
    }
    for bad in [json!("1500"), json!(-1), json!(0.5), json!(true), json!([1500]), json!({"ms": 1500})] {
        let message = told(&json!({"ms": bad})).millis("ms").unwrap_err();
        assert!(message.contains("'tasks/get'") && message.contains("ms must be"), "{message}");
    }
}

#[test]
fn a_pause_is_what_the_server_asks_for_while_the_task_lives() {
    let ms = Duration::from_millis;
    for (asked, lives, expected) in [
        (None, None, None),
        (Some(700), None, Some(700)),
        (Some(700), Some(60_000), Some(700)),
        // After half its time at the latest, so that its end is not forgotten unseen.
        (Some(3_600_000), Some(60_000), Some(30_000)),
        (None, Some(4_000), Some(2_000)),
        (None, Some(3_600_000), None),
        (Some(700), Some(0), Some(700)),
        (None, Some(0), None),
        // A task that outlives its time is no reason to ask without a pause.
        (Some(5_000), Some(1), Some(1_000)),
        (None, Some(1), Some(1_000)),
        (Some(700), Some(1), Some(700)),
    ] {
        let (asked, lives, expected) = (asked.map(ms), lives.map(ms), expected.map(ms));
        assert_eq!(pause(asked, lives), expected, "{asked:?} {lives:?}");
    }
    let none_in_particular = json!({"poll": 0});
    assert_eq!(told(&none_in_particular).pause("poll", "ttl"), Ok(None));
}

/// Vector 71, as far as it goes for these.
#[test]
fn vector_71_the_answer_must_be_about_the_very_task() {
    assert_eq!(told(&json!({"taskId": "r1"})).same_task("r1"), Ok(()));
    for bad in [
        json!({}),
        json!({"taskId": null}),
        json!({"taskId": "R1"}),
        json!({"taskId": " r1"}),
        json!({"taskId": 1}),
    ] {
        let message = told(&bad).same_task("r1").unwrap_err();
        assert!(message.contains("taskId"), "{message}");
    }
}

#[test]
fn a_failed_call_is_a_plain_calls_failure_unless_something_may_run() {
    for (of, ended) in [
        (CallFault::NotSent, true),
        (CallFault::Refused, true),
        (CallFault::Config, true),
        (CallFault::Denied, true),
        (CallFault::Violation, true),
        (CallFault::Timeout, false),
        (CallFault::Broken, false),
        (CallFault::Protocol, false),
    ] {
        let expected = if ended {
            SubmitError::Call(fault(of))
        } else {
            SubmitError::Unknown("server 'peer': why".into())
        };
        assert_eq!(unsent(fault(of)), expected);
    }
}

#[test]
fn a_json_rpc_error_is_told_by_its_message() {
    let text = |error: Value| error_text(error.as_object().unwrap(), &Redactor::default());
    assert_eq!(text(json!({"code": -32603, "message": "no data"})), Ok("no data".into()));
    assert_eq!(text(json!({"code": -32603, "message": " "})), Ok("error -32603".into()));
    for bad in [
        json!({"message": "m"}),
        json!({"code": "-32603", "message": "m"}),
        json!({"code": 1.5, "message": "m"}),
        json!({"code": 1}),
        json!({"code": 1, "message": 7}),
    ] {
        assert!(text(bad.clone()).is_err(), "{bad}");
    }
}

#[test]
fn what_a_task_remembers_is_its_tool() {
    let stored = data(Submits::Tool("research"));
    assert_eq!((&stored, tool(&stored)), (&json!({"tool": "research"}), Ok("research")));
    for bad in [Value::Null, json!({}), json!({"tool": ""}), json!({"tool": 7})] {
        assert!(tool(&bad).unwrap_err().contains("'tool'"));
    }
}
