//! A function's own binary, as the platform runs it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::binaries;
use crate::runtime_api::{Outcome, RuntimeApi};

/// A running function. Its process ends with this value, however the test ends.
pub struct Function {
    name: String,
    api: RuntimeApi,
    process: Child,
    log: PathBuf,
    /// What its requests show as their credential.
    pub credential: Option<String>,
}

/// A function that has nothing of its environment but what is given, and what the platform sets.
pub struct Start<'a> {
    /// The package.
    pub package: &'a str,
    /// Our variables and the SDK's.
    pub environment: Vec<(&'static str, String)>,
    /// Where its log goes.
    pub folder: &'a Path,
}

impl Start<'_> {
    /// Starts it.
    pub async fn run(self) -> Function {
        let Self { package, environment, folder } = self;
        let api = RuntimeApi::start().await;
        let log = folder.join(format!("{package}.log"));
        let mut command = Command::new(binaries::function(package).await);
        command
            .env_clear()
            .envs(environment)
            .env("AWS_LAMBDA_RUNTIME_API", api.address())
            .env("AWS_LAMBDA_FUNCTION_NAME", package)
            .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")
            .env("AWS_LAMBDA_LOG_GROUP_NAME", "/pudu/test")
            .env("AWS_LAMBDA_LOG_STREAM_NAME", "test")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            // A stopped process is killed like any other.
            .kill_on_drop(true);
        let process = command.spawn().unwrap();
        api.attach(process.id().unwrap());
        Function { name: package.to_owned(), api, process, log, credential: None }
    }
}

impl Function {
    /// Sends an event and returns the answer, which must come within `timeout`.
    pub async fn invoke(&mut self, event: Value, timeout: Duration) -> Value {
        let outcome = self.try_invoke(event, timeout).await;
        outcome.unwrap_or_else(|why| panic!("{why}\n{}", self.log()))
    }

    /// The same; the error is what became of it instead: it failed, was late, or its process ended.
    pub async fn try_invoke(&mut self, event: Value, timeout: Duration) -> Result<Value, String> {
        let outcome = tokio::select! {
            outcome = self.api.invoke(event, timeout) => outcome,
            ended = self.process.wait() => return Err(format!("{} ended: {ended:?}", self.name)),
        };
        match outcome {
            Some(Outcome::Answered(answer)) => Ok(answer),
            Some(Outcome::Failed(error)) => Err(format!("{} failed: {error}", self.name)),
            None => Err(format!("{} did not answer within {timeout:?}", self.name)),
        }
    }

    /// Its process, while it runs.
    pub fn process(&self) -> Option<u32> {
        self.process.id()
    }

    /// Sends a Function URL's event for an HTTP request; the status and the JSON of the answer.
    pub async fn request(&mut self, method: &str, path: &str, body: Option<&Value>) -> (u64, Value) {
        let answer = self
            .invoke(url_event(method, path, body, self.credential.as_deref()), Duration::from_secs(60))
            .await;
        let text = answer["body"].as_str().unwrap_or_default();
        let body = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {answer}"));
        (answer["statusCode"].as_u64().unwrap(), body)
    }

    /// Sends a Function URL's event for an HTTP request without a body; the answer as it left the function.
    pub async fn answer(&mut self, method: &str, path: &str, timeout: Duration) -> Value {
        self.invoke(url_event(method, path, None, self.credential.as_deref()), timeout).await
    }

    /// Waits until it has ended by itself.
    pub async fn ended(&mut self, within: Duration) -> ExitStatus {
        let ended = tokio::time::timeout(within, self.process.wait()).await;
        ended.unwrap_or_else(|_| panic!("{} goes on\n{}", self.name, self.log())).unwrap()
    }

    /// Where it asks for its work: what no server of a config may be.
    pub fn runtime_api(&self) -> String {
        format!("http://{}/2018-06-01/", self.api.address())
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

/// What a Function URL sends (payload format 2.0).
fn url_event(method: &str, path: &str, body: Option<&Value>, credential: Option<&str>) -> Value {
    let (raw_path, query) = path.split_once('?').unwrap_or((path, ""));
    let body = body.map(Value::to_string);
    let domain = "abcdefgh.lambda-url.local.on.aws";
    let mut headers = json!({"host": domain, "user-agent": "acceptance", "x-forwarded-proto": "https"});
    if let Some(credential) = credential {
        headers["authorization"] = json!(format!("Bearer {credential}"));
    }
    if let Some(body) = &body {
        headers["content-type"] = json!("application/json");
        headers["content-length"] = json!(body.len().to_string());
    }
    json!({
        "version": "2.0", "routeKey": "$default", "rawPath": raw_path, "rawQueryString": query,
        "headers": headers, "isBase64Encoded": false, "body": body,
        "requestContext": {
            "accountId": "000000000000", "apiId": "abcdefgh", "domainName": domain, "domainPrefix": "abcdefgh",
            "http": {
                "method": method, "path": raw_path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1",
                "userAgent": "acceptance",
            },
            "requestId": "00000000-0000-4000-8000-000000000000", "routeKey": "$default", "stage": "$default",
            "time": "01/Nov/2026:00:00:00 +0000", "timeEpoch": 1_793_491_200_000_u64,
        },
    })
}
