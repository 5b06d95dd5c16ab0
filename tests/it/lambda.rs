//! The binaries as the platform runs them: each a process with an environment, a Runtime API, and a table behind HTTP.

use std::sync::Arc;
use std::time::Duration;

use acceptance::{ExampleServer, Function, ParameterStore, Start, first_key};
use pudu::engine::{Endpoint, Engine};
use pudu::workers::tick;
use pudu_domain::ApiKey;
use pudu_dynamo::schema;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_lambda::settings;
use serde_json::{Value, json};
use tempfile::TempDir;

const TABLE: &str = "pudu-lambda";
const GATEWAY: &str = "pudu-gateway";
const POLLER: &str = "pudu-task-poller";
const NOTIFIER: &str = "pudu-notifier";
const AGENT: &str = "pudu-agent-function";
const PREFIX: &str = "/pudu/test";

/// The template's longest time limit.
const TIMEOUT: Duration = Duration::from_secs(180);

/// A table and a folder, and no process yet.
struct Cloud {
    folder: TempDir,
    endpoint: Endpoint,
    /// What the first administrator was given.
    admin: ApiKey,
}

impl Cloud {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::in_memory().unwrap();
        schema::create_table(&engine.client(), TABLE, &SystemClock).await.unwrap();
        let admin = first_key(&engine.client(), TABLE).await;
        let endpoint = engine.serve("127.0.0.1:0".parse().unwrap(), "test-key").await.unwrap();
        Self { folder, endpoint, admin }
    }

    fn table(&self) -> Vec<(&'static str, String)> {
        let mut environment = self.endpoint.environment().to_vec();
        environment.push((settings::TABLE, TABLE.to_owned()));
        environment
    }

    fn key(&self) -> (&'static str, String) {
        (settings::SEAL_KEY_FILE, self.folder.path().join("seal.key").to_str().unwrap().to_owned())
    }

    /// What a function needs that calls servers. Those of a test are on loopback, which the cloud's egress rule must open like
    /// any private network.
    fn table_and_key(&self) -> Vec<(&'static str, String)> {
        let open = (settings::EGRESS_ALLOW, "127.0.0.0/8".to_owned());
        [self.table(), vec![self.key(), Self::bucket(), open]].concat()
    }

    /// The bucket of what is too large for the table; nothing here is.
    fn bucket() -> (&'static str, String) {
        (settings::BLOB_BUCKET, "nobody-needs-it".to_owned())
    }

    async fn start(&self, package: &str, environment: Vec<(&'static str, String)>) -> Function {
        let mut function = Start { package, environment, folder: self.folder.path() }.run().await;
        function.credential = Some(self.admin.expose().to_owned());
        function
    }
}

/// What the scheduler sends.
fn scheduled(function: &str) -> Value {
    tick(function, &SystemClock, &OsRandom).payload
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_functions_do_the_whole_job() {
    let cloud = Cloud::new().await;
    let example = ExampleServer::start(cloud.folder.path(), Arc::new(SystemClock)).await;
    let mut gateway = cloud.start(GATEWAY, cloud.table_and_key()).await;
    assert_eq!(gateway.request("GET", "/healthz", None).await.1["config_revision"], 0);

    let toolset = json!({
        "name": "report", "submit_tool": "submit_report", "status_tool": "get_report_status", "cancel_tool": "cancel_report",
    });
    let entry = json!({
        "type": "http", "url": example.url(), "headers": {"X-Secret": "canary-of-the-functions"}, "task_toolsets": [toolset],
    });
    let put = json!({"mcp_servers": {"example": entry}});
    let (status, shown) = gateway.request("PUT", "/api/mcp/config", Some(&put)).await;
    assert_eq!(
        (status, &shown["mcp_servers"]["example"]["headers"]["X-Secret"]),
        (200, &json!("***")),
        "{shown}"
    );

    let call = json!({"arguments": {"text": "größer"}});
    let (status, echoed) = gateway.request("POST", "/api/threads/t1/tools/example_echo", Some(&call)).await;
    assert_eq!((status, &echoed["structuredContent"]["text"]), (200, &json!("größer")), "{echoed}");

    let call = json!({"arguments": {"title": "Deer", "duration_seconds": 1}});
    let path = "/api/threads/t1/tools/example_submit_report";
    let (status, submitted) = gateway.request("POST", path, Some(&call)).await;
    assert_eq!((status, &submitted["status"]), (200, &json!("submitted")), "{submitted}");
    let task = format!("/api/threads/t1/mcp-tasks/{}", submitted["task_id"].as_str().unwrap());

    // The first poll is due five seconds after the submission: the poller waits for what is that close.
    let mut poller = cloud.start(POLLER, cloud.table_and_key()).await;
    let report = poller.invoke(scheduled(POLLER), TIMEOUT).await;
    assert_eq!(report, json!({"worked": 1, "refused": 0, "failed": 0, "scans_failed": 0}));
    let (_, seen) = gateway.request("GET", &task, None).await;
    assert_eq!((&seen["status"], &seen["result"]["title"]), (&json!("completed"), &json!("Deer")), "{seen}");
    assert_eq!(gateway.request("GET", "/api/threads/t1/events", None).await, (200, json!([])));

    // The notifier calls no server: it has no key.
    let mut notifier = cloud.start(NOTIFIER, cloud.table()).await;
    let report = notifier.invoke(scheduled(NOTIFIER), TIMEOUT).await;
    assert_eq!(report, json!({"worked": 1, "refused": 0, "failed": 0, "scans_failed": 0}));
    let (_, events) = gateway.request("GET", "/api/threads/t1/events?limit=10", None).await;
    assert_eq!(events.as_array().unwrap().len(), 1, "{events}");
    assert_eq!(events[0]["event"]["result"]["title"], "Deer");

    // A tick that comes again finds nothing, in the same process that was frozen in between.
    let nothing = json!({"worked": 0, "refused": 0, "failed": 0, "scans_failed": 0});
    assert_eq!(poller.invoke(scheduled(POLLER), TIMEOUT).await, nothing);
    assert_eq!(notifier.invoke(scheduled(NOTIFIER), TIMEOUT).await, nothing);
    assert_eq!(gateway.request("GET", "/api/threads/t1/events", None).await.1, events);

    for function in [&gateway, &poller, &notifier] {
        let log = function.log();
        assert!(!log.contains("canary-of-the-functions") && !log.contains("\"ERROR\""), "{log}");
    }
}

/// The same binary with the other mind: an answer leaves as it is made, and a stream ends before the function's time is over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_leaves_the_gateway_as_it_is_made_and_ends_in_time() {
    let cloud = Cloud::new().await;
    let streams = [(settings::ANSWERS, "stream".to_owned()), (settings::STREAM_SECONDS, "10".to_owned())];
    let environment = [cloud.table_and_key(), streams.to_vec()].concat();
    let mut gateway = cloud.start(GATEWAY, environment).await;
    let answer = gateway.answer("GET", "/api/threads/t1/mcp-tasks/stream", Duration::from_secs(60)).await;
    assert_eq!((&answer["statusCode"], &answer["streamed"]), (&json!(200), &json!(true)), "{answer}");
    assert_eq!(answer["headers"]["content-type"], "text/event-stream", "{answer}");
    let body = answer["body"].as_str().unwrap();
    assert!(body.starts_with("retry: 1000\n\n") && body.contains("id: "), "{body}");
    // Any other answer leaves by it as well.
    let answer = gateway.answer("GET", "/healthz", Duration::from_secs(60)).await;
    assert_eq!(answer["statusCode"], 200, "{answer}");
    assert!(answer["body"].as_str().unwrap().contains("config_revision"), "{answer}");

    let mut whole = cloud.start(GATEWAY, cloud.table_and_key()).await;
    let answer = whole.answer("GET", "/api/threads/t1/mcp-tasks/stream", Duration::from_secs(60)).await;
    assert_eq!((&answer["statusCode"], &answer["streamed"]), (&json!(200), &Value::Null), "{answer}");
    assert!(answer["body"].as_str().unwrap().starts_with("retry: 5000\n\n"), "{answer}");
}

/// Both functions that call servers read `$VAR` from the parameter store, and only there, and only what the config names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_variable_is_the_parameter_of_its_name_and_never_the_functions_environment() {
    let cloud = Cloud::new().await;
    let example = ExampleServer::start(cloud.folder.path(), Arc::new(SystemClock)).await;
    let store = ParameterStore::start(PREFIX).await;
    store.put("/pudu/test/EXAMPLE_URL", &example.url());
    store.put("/pudu/test/EXAMPLE_TOKEN", "canary-of-the-parameters");
    store.put("/pudu/test/NOT_NAMED", "canary-of-the-parameters");
    let environment = || {
        let parameters = [
            (settings::PARAMETER_PREFIX, PREFIX.to_owned()),
            ("AWS_ENDPOINT_URL_SSM", store.url()),
            ("ONLY_IN_THE_ENVIRONMENT", example.url()),
        ];
        [cloud.table_and_key(), parameters.to_vec()].concat()
    };
    let mut gateway = cloud.start(GATEWAY, environment()).await;

    let toolset = json!({"name": "report", "submit_tool": "submit_report", "status_tool": "get_report_status", "cancel_tool": "cancel_report"});
    let entry = json!({
        "type": "http", "url": "$EXAMPLE_URL", "headers": {"X-Token": "$EXAMPLE_TOKEN"}, "task_toolsets": [toolset],
    });
    let environments = json!({"type": "http", "url": "$ONLY_IN_THE_ENVIRONMENT"});
    let put = json!({"mcp_servers": {"example": entry, "environments": environments}});
    let (status, shown) = gateway.request("PUT", "/api/mcp/config", Some(&put)).await;
    assert_eq!((status, &shown["mcp_servers"]["example"]["url"]), (200, &json!("$EXAMPLE_URL")), "{shown}");
    assert_eq!(shown["mcp_servers"]["example"]["headers"]["X-Token"], "$EXAMPLE_TOKEN");

    let call = json!({"arguments": {"text": "deer"}});
    let (status, echoed) = gateway.request("POST", "/api/threads/t1/tools/example_echo", Some(&call)).await;
    assert_eq!((status, &echoed["structuredContent"]["text"]), (200, &json!("deer")), "{echoed}");
    let (_, tools) = gateway.request("GET", "/api/tools", None).await;
    let text = tools["servers"]["environments"].to_string();
    assert!(text.contains("ONLY_IN_THE_ENVIRONMENT is not set"), "{tools}");

    let call = json!({"arguments": {"title": "Deer", "duration_seconds": 1}});
    let path = "/api/threads/t1/tools/example_submit_report";
    assert_eq!(gateway.request("POST", path, Some(&call)).await.0, 200);
    let mut poller = cloud.start(POLLER, environment()).await;
    let report = poller.invoke(scheduled(POLLER), TIMEOUT).await;
    assert_eq!(report, json!({"worked": 1, "refused": 0, "failed": 0, "scans_failed": 0}));

    let names =
        ["EXAMPLE_TOKEN", "EXAMPLE_URL", "ONLY_IN_THE_ENVIRONMENT"].map(|name| format!("{PREFIX}/{name}"));
    let asked = store.asked();
    assert!(asked.len() == 2 && asked.iter().all(|request| *request == names), "once by each: {asked:?}");
    for function in [&gateway, &poller] {
        let log = function.log();
        assert!(!log.contains("canary-of-the-parameters") && !log.contains("\"ERROR\""), "{log}");
    }
}

/// What is private is called only if the operator opened its network; the function's own Runtime API never is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_servers_are_called_only_when_their_network_is_open() {
    let cloud = Cloud::new().await;
    let example = ExampleServer::start(cloud.folder.path(), Arc::new(SystemClock)).await;
    let put = json!({"mcp_servers": {"example": {"type": "http", "url": example.url()}}});
    let call = json!({"arguments": {"text": "deer"}});
    let path = "/api/threads/t1/tools/example_echo";
    let open = (settings::EGRESS_ALLOW, "10.0.0.0/8, 127.0.0.0/8".to_owned());
    for (more, answered) in
        [(None, false), (Some((settings::EGRESS_ALLOW, "10.0.0.0/8".to_owned())), false), (Some(open), true)]
    {
        let environment =
            [cloud.table(), vec![cloud.key(), Cloud::bucket()], more.into_iter().collect()].concat();
        let mut gateway = cloud.start(GATEWAY, environment).await;
        assert_eq!(gateway.request("PUT", "/api/mcp/config", Some(&put)).await.0, 200);
        let (status, body) = gateway.request("POST", path, Some(&call)).await;
        assert_eq!(status == 200, answered, "{body}");
        if answered {
            let api = json!({"mcp_servers": {"api": {"type": "http", "url": gateway.runtime_api()}}});
            assert_eq!(gateway.request("PUT", "/api/mcp/config", Some(&api)).await.0, 200);
            let (_, tools) = gateway.request("GET", "/api/tools", None).await;
            assert!(tools["servers"]["api"].to_string().contains("Runtime API"), "{tools}");
        } else {
            assert!(body.to_string().contains("egress"), "{body}");
        }
    }
}

/// The Function URL asks for no signature, so the function asks for a key: only whether it works is told to anybody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_a_function_url_nobody_is_let_in_without_a_key() {
    let cloud = Cloud::new().await;
    let mut gateway = cloud.start(GATEWAY, cloud.table_and_key()).await;
    let admin = gateway.credential.take();
    assert_eq!(gateway.request("GET", "/healthz", None).await.0, 200);
    for path in ["/api/tools", "/api/mcp/config", "/api/keys", "/nothing", "/healthz/"] {
        let (status, body) = gateway.request("GET", path, None).await;
        assert_eq!(status, 401, "{path}: {body}");
    }
    gateway.credential = Some(format!("{}x", admin.as_deref().unwrap()));
    assert_eq!(gateway.request("GET", "/api/tools", None).await.0, 401);
    gateway.credential = admin;
    assert_eq!(gateway.request("GET", "/api/tools", None).await.0, 200);
    let (_, keys) = gateway.request("GET", "/api/keys", None).await;
    assert_eq!(keys["keys"][0]["name"], "first", "{keys}");
    assert!(!gateway.log().contains(&cloud.admin.expose()[18..]), "{}", gateway.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_input_is_the_same_behind_a_function_url() {
    let cloud = Cloud::new().await;
    let mut gateway = cloud.start(GATEWAY, cloud.table_and_key()).await;
    let call = json!({"arguments": {}});
    assert_eq!(gateway.request("POST", "/api/threads/t1/tools/nobody_has_it", Some(&call)).await.0, 404);
    assert_eq!(gateway.request("POST", "/api/threads/a.b/tools/nobody_has_it", Some(&call)).await.0, 422);
    assert_eq!(gateway.request("PUT", "/api/mcp/config", Some(&json!([]))).await.0, 422);
    let large = json!({"mcp_servers": {}, "more": "x".repeat(1024 * 1024)});
    assert_eq!(gateway.request("PUT", "/api/mcp/config", Some(&large)).await.0, 413);
    assert_eq!(gateway.request("GET", "/api/mcp/config", None).await, (200, json!({"mcp_servers": {}})));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setting_that_is_missing_or_wrong_ends_the_process_with_its_name() {
    let cloud = Cloud::new().await;
    let without_table = cloud.endpoint.environment().to_vec();
    for package in [GATEWAY, POLLER, NOTIFIER, AGENT] {
        let mut function = cloud.start(package, without_table.clone()).await;
        let status = function.ended(Duration::from_secs(30)).await;
        assert!(
            !status.success() && function.log().contains(settings::TABLE),
            "{package}: {}",
            function.log()
        );
    }
    for (name, value) in [
        (settings::EGRESS_ALLOW, "10.0.0.0/99"),
        (settings::PARAMETER_PREFIX, "pudu"),
        (settings::STDIO, "yes"),
    ] {
        let environment = [cloud.table(), vec![cloud.key(), (name, value.to_owned())]].concat();
        let mut function = cloud.start(GATEWAY, environment).await;
        let status = function.ended(Duration::from_secs(30)).await;
        assert!(!status.success() && function.log().contains(name), "{name}: {}", function.log());
    }
    for package in [GATEWAY, POLLER, AGENT] {
        let mut function = cloud.start(package, cloud.table()).await;
        let status = function.ended(Duration::from_secs(30)).await;
        assert!(
            !status.success() && function.log().contains(settings::SEAL_KMS_KEY),
            "{package}: {}",
            function.log()
        );
    }
}
