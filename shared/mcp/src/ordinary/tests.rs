use std::collections::HashMap;
use std::sync::Mutex;

use proptest::prelude::*;
use pudu_app::ports::{Listing, RequestSecrets, Submits, TaskReply, TaskRequest};
use pudu_config::{Document, NoSecrets, Secrets};
use pudu_domain::{ThreadId, ThreadKey, UserId};
use secrecy::SecretString;
use serde_json::json;

use super::*;

/// A result with this structured content.
pub(super) fn structured(content: Value) -> Value {
    let mut result = json!({"content": []});
    result["structuredContent"] = content;
    result
}

fn arbitrary_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop_oneof![
            Just("r1"),
            Just("running"),
            Just("cancelled"),
            Just("input_required"),
            Just("task_not_found")
        ]
        .prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("(uri|mime_type|text|type|.{0,3})", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Results near and far from what a task tool answers: half of them with the right handle and a known status.
pub(super) fn arbitrary_results() -> impl Strategy<Value = Value> {
    let names =
        "(task_id|status|result|result_artifact|error|error_code|input_required|poll_after_seconds|.{0,4})";
    let noise = proptest::collection::vec((names, arbitrary_json()), 0..8);
    let near = (noise, "(running|input_required|completed|failed|cancelled)").prop_map(|(noise, status)| {
        let fixed = [("task_id".to_owned(), json!("r1")), ("status".to_owned(), json!(status))];
        structured(Value::Object(noise.into_iter().chain(fixed).collect()))
    });
    let far = (arbitrary_json(), arbitrary_json(), arbitrary_json()).prop_map(|(content, structured, error)| {
        json!({"content": content, "structuredContent": structured, "isError": error})
    });
    prop_oneof![near, far, arbitrary_json()]
}

/// Answers every call alike and remembers what was asked.
struct Scripted {
    answer: Result<Value, CallError>,
    asked: Mutex<Vec<(String, Value)>>,
}

#[async_trait]
impl McpClient for Scripted {
    async fn list_tools(&self, _: &Server, _: Duration) -> Result<Listing, CallError> {
        panic!("no driver lists tools")
    }

    async fn call_tool(
        &self,
        _: &Server,
        caller: &Caller,
        call: ToolCall,
        _: Duration,
    ) -> Result<Value, CallError> {
        assert!(matches!(caller.secrets, RequestSecrets::Background));
        self.asked.lock().unwrap().push((call.tool, Value::Object(call.arguments)));
        self.answer.clone()
    }

    async fn ask_task(
        &self,
        _: &Server,
        _: &Caller,
        _: TaskRequest,
        _: Duration,
    ) -> Result<TaskReply, CallError> {
        panic!("an ordinary toolset is asked through its tools")
    }
}

fn scripted(answer: Result<Value, CallError>) -> (Arc<Scripted>, OrdinaryTools) {
    let client = Arc::new(Scripted { answer, asked: Mutex::default() });
    (Arc::clone(&client), OrdinaryTools::new(client, Arc::new(NoSecrets)))
}

fn server() -> Server {
    let entry = json!({"type": "http", "url": "http://localhost/", "headers": {"X-Key": "$KEY"}});
    Document::parse(json!({"mcpServers": {"peer": entry}})).unwrap().server("peer").unwrap().clone()
}

fn caller() -> Caller {
    Caller::background(ThreadKey {
        user: UserId::parse("local:default").unwrap(),
        thread: ThreadId::parse("t").unwrap(),
    })
}

fn data() -> Value {
    json!({"submit_tool": "begin", "status_tool": "ask", "cancel_tool": "stop"})
}

fn remote() -> RemoteTaskId {
    RemoteTaskId::parse("r1").unwrap()
}

const LIMIT: Duration = Duration::from_secs(1);

#[tokio::test]
async fn each_act_calls_its_own_tool() {
    let ended = structured(json!({"task_id": "r1", "status": "cancelled"}));
    let (client, driver) = scripted(Ok(ended));
    let business = Map::from_iter([("title".to_owned(), json!("t"))]);
    driver.submit(&server(), &caller(), &data(), business, LIMIT).await.unwrap_err();
    driver.status(&server(), &caller(), &data(), &remote(), LIMIT).await.unwrap();
    driver.cancel(&server(), &caller(), &data(), "r1", LIMIT).await.unwrap();
    let id = json!({"task_id": "r1"});
    let expected = [("begin", json!({"title": "t"})), ("ask", id.clone()), ("stop", id)];
    let asked = client.asked.lock().unwrap();
    assert_eq!(*asked, expected.map(|(tool, arguments)| (tool.to_owned(), arguments)));
}

#[tokio::test]
async fn a_failed_submit_is_refused_only_when_nothing_can_run() {
    for (fault, refused) in [
        (CallFault::NotSent, true),
        (CallFault::Refused, true),
        (CallFault::Config, true),
        (CallFault::Denied, true),
        (CallFault::Violation, false),
        (CallFault::Timeout, false),
        (CallFault::Broken, false),
        (CallFault::Protocol, false),
    ] {
        let error = CallError { server: "peer".into(), fault, message: "why".into() };
        let (_, driver) = scripted(Err(error.clone()));
        let text = "server 'peer': why".to_owned();
        let expected = match (fault, refused) {
            (CallFault::Denied, _) => SubmitError::Denied(error),
            (_, true) => SubmitError::Refused(text.clone()),
            (_, false) => SubmitError::Unknown(text.clone()),
        };
        assert_eq!(driver.submit(&server(), &caller(), &data(), Map::new(), LIMIT).await, Err(expected));
        let retry = Err(if fault == CallFault::Violation {
            DriverError::Violation(text)
        } else {
            DriverError::Retry(text)
        });
        assert_eq!(driver.status(&server(), &caller(), &data(), &remote(), LIMIT).await, retry);
        assert_eq!(
            driver.cancel(&server(), &caller(), &data(), "r1", LIMIT).await.map(drop),
            retry.map(drop)
        );
    }
}

#[tokio::test]
async fn a_missing_tool_name_is_a_violation_and_calls_nothing() {
    for key in ["submit_tool", "status_tool", "cancel_tool"] {
        for wrong in [Value::Null, json!(""), json!(7)] {
            let mut data = data();
            data[key] = wrong;
            let (client, driver) = scripted(Ok(json!({})));
            let submit = driver.submit(&server(), &caller(), &data, Map::new(), LIMIT).await;
            assert!(matches!(submit, Err(SubmitError::Refused(message)) if message.contains(key)));
            let status = driver.status(&server(), &caller(), &data, &remote(), LIMIT).await;
            assert!(matches!(status, Err(DriverError::Violation(message)) if message.contains(key)));
            let cancel = driver.cancel(&server(), &caller(), &data, "r1", LIMIT).await;
            assert!(matches!(cancel, Err(DriverError::Violation(message)) if message.contains(key)));
            assert!(client.asked.lock().unwrap().is_empty());
        }
    }
}

#[tokio::test]
async fn credentials_do_not_leave_through_a_task() {
    struct Vars(HashMap<&'static str, &'static str>);
    impl Secrets for Vars {
        fn get(&self, name: &str) -> Option<SecretString> {
            self.0.get(name).map(|value| SecretString::from(*value))
        }
    }
    let secrets = || Arc::new(Vars(HashMap::from([("KEY", "canary-41ab")])));
    let failed = json!({"isError": true, "content": [{"type": "text", "text": "key canary-41ab is bad"}]});
    let ended = structured(json!({"task_id": "r1", "status": "failed", "error": "key canary-41ab is bad"}));
    for answer in [failed, ended] {
        let client = Arc::new(Scripted { answer: Ok(answer), asked: Mutex::default() });
        let driver = OrdinaryTools::new(client, secrets());
        let texts = [
            format!("{:?}", driver.submit(&server(), &caller(), &data(), Map::new(), LIMIT).await),
            format!("{:?}", driver.status(&server(), &caller(), &data(), &remote(), LIMIT).await),
            format!("{:?}", driver.cancel(&server(), &caller(), &data(), "r1", LIMIT).await),
        ];
        assert!(texts.iter().all(|text| !text.contains("canary")), "{texts:?}");
    }
}

#[tokio::test]
async fn what_a_toolset_says_is_remembered_and_used() {
    let entry = json!({"type": "http", "url": "http://localhost/", "task_toolsets": [
        {"name": "report", "submit_tool": "begin", "status_tool": "ask", "cancel_tool": "stop"}
    ]});
    let document = Document::parse(json!({"mcpServers": {"peer": entry}})).unwrap();
    let set = document.server("peer").unwrap().task_toolsets.first().unwrap();
    let (client, driver) = scripted(Ok(json!({})));
    let stored = driver.data(Submits::Toolset(set));
    assert_eq!(stored, data());
    driver.status(&server(), &caller(), &stored, &remote(), LIMIT).await.unwrap_err();
    assert_eq!(client.asked.lock().unwrap()[0].0, "ask");
}

#[tokio::test]
async fn an_answer_is_refused_only_when_the_server_refused_the_call() {
    let mut data = data();
    data["input_tool"] = json!("tell");
    let asked = json!({"prompt": "which year?", "schema": {"type": "string"}});
    assert_eq!(scripted(Ok(json!({}))).1.question(&data, &asked), Ok(json!({"type": "string"})));
    for fault in [
        CallFault::NotSent,
        CallFault::Refused,
        CallFault::Config,
        CallFault::Denied,
        CallFault::Violation,
        CallFault::Timeout,
        CallFault::Broken,
        CallFault::Protocol,
    ] {
        let error = CallError { server: "peer".into(), fault, message: "why".into() };
        let (client, driver) = scripted(Err(error));
        let told = driver.answer(&server(), &caller(), &data, &remote(), &asked, &json!("2026"), LIMIT).await;
        let text = "server 'peer': why".to_owned();
        let refused = fault == CallFault::Refused;
        assert_eq!(told, Err(if refused { AnswerError::Refused(text) } else { AnswerError::Retry(text) }));
        let call = ("tell".to_owned(), json!({"task_id": "r1", "input": "2026"}));
        assert_eq!(*client.asked.lock().unwrap(), [call]);
    }
}
