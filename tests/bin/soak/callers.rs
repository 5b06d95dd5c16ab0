//! Who calls the gateway over HTTP: submits and cancels as the errands say, and reads what threads are told meanwhile.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use acceptance::Fleet;
use acceptance::audit::{Promise, Version};
use anyhow::Context;
use http::{Method, StatusCode};
use pudu_app::ports::Clock;
use pudu_lambda::clock::SystemClock;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::errands::Errand;

/// How long the gateway may take to answer: longer than it gives itself.
const ANSWER: Duration = Duration::from_secs(65);
/// Pause between two looks at all threads.
const LOOK: Duration = Duration::from_secs(2);
/// How often a cancel that finds the task busy is asked for again.
const CANCELS: usize = 5;
/// How long a caller who was told that nobody is at work tries again: all of them may have been killed.
const PATIENCE: Duration = Duration::from_secs(60);

/// The callers of one gateway; clones are the same callers.
#[derive(Clone)]
pub(crate) struct Callers {
    base: String,
    http: reqwest::Client,
    book: Arc<Mutex<Book>>,
}

/// What they got.
#[derive(Debug, Clone, Default)]
pub(crate) struct Book {
    /// Tasks.
    pub(crate) promised: Vec<Promise>,
    /// Threads that were deleted.
    pub(crate) deleted: BTreeSet<String>,
    /// What should have been answered otherwise.
    pub(crate) refused: Vec<String>,
    /// Cancels that were taken.
    pub(crate) cancels: usize,
    /// What threads were told, and when by the event's own word.
    pub(crate) seen: BTreeSet<(Version, String)>,
}

impl Callers {
    pub(crate) fn new(gateway: std::net::SocketAddr) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder().no_proxy().timeout(ANSWER).build()?;
        Ok(Self { base: format!("http://{gateway}/api/threads"), http, book: Arc::default() })
    }

    /// Does one errand, from its submission to its cancel.
    pub(crate) async fn run(self, errand: Errand, began: Instant) {
        SystemClock.sleep((began + errand.at).saturating_duration_since(Instant::now())).await;
        if let Some(id) = self.submit(&errand).await {
            self.cancel(&errand, &id).await;
        }
    }

    /// Submits, and returns the local id.
    pub(crate) async fn submit(&self, errand: &Errand) -> Option<String> {
        let path = format!("{}/tools/{}", errand.thread, Fleet::submit_tool(errand.server));
        let answer = self.call(Method::POST, &path, Some(json!({ "arguments": errand.arguments }))).await;
        let id = answer.as_ref().ok().and_then(|(_, body)| body.get("task_id")?.as_str().map(str::to_owned));
        let mut book = self.book();
        match &id {
            Some(id) => book.promised.push(Promise { task: id.clone(), thread: errand.thread.clone() }),
            None => book.refused.push(format!("{path}: {answer:?}")),
        }
        id
    }

    /// Cancels the errand's task when its time has come, if it has one.
    pub(crate) async fn cancel(&self, errand: &Errand, id: &str) {
        let Some(after) = errand.cancel_after else { return };
        SystemClock.sleep(after).await;
        let path = format!("{}/mcp-tasks/{id}/cancel", errand.thread);
        let (began, mut refusals) = (Instant::now(), 0);
        loop {
            let answer = self.call(Method::POST, &path, None).await;
            match answer {
                Ok((StatusCode::OK, _)) => return self.book().cancels += 1,
                Ok((StatusCode::SERVICE_UNAVAILABLE, _)) if began.elapsed() < PATIENCE => {
                    SystemClock.sleep(LOOK).await;
                }
                other => {
                    refusals += 1;
                    if refusals == CANCELS {
                        return self.book().refused.push(format!("{path}: {other:?}"));
                    }
                }
            }
        }
    }

    /// Deletes a thread when its time has come, and its `tasks` have been submitted.
    pub(crate) async fn delete(self, thread: String, tasks: usize, at: Instant) {
        SystemClock.sleep(at.saturating_duration_since(Instant::now())).await;
        let here = |book: &Book| book.promised.iter().filter(|promise| promise.thread == thread).count();
        while here(&self.until_now()) < tasks {
            SystemClock.sleep(LOOK).await;
        }
        let answer = self.call(Method::DELETE, &thread, None).await;
        match answer {
            Ok((StatusCode::ACCEPTED, _)) => drop(self.book().deleted.insert(thread)),
            other => self.book().refused.push(format!("deleting {thread}: {other:?}")),
        }
    }

    /// Reads every thread's events again and again.
    pub(crate) async fn watch(self, threads: Vec<String>) {
        loop {
            for thread in &threads {
                self.look(thread).await;
            }
            SystemClock.sleep(LOOK).await;
        }
    }

    /// Reads one thread's events.
    pub(crate) async fn look(&self, thread: &str) {
        let answer = self.call(Method::GET, &format!("{thread}/events?limit=100"), None).await;
        // A look that fails sees nothing; the next one sees it.
        let Ok((StatusCode::OK, Value::Array(events))) = answer else { return };
        let read = |event: &Value| {
            let task = event.pointer("/event/task_id")?.as_str()?.to_owned();
            let version = u32::try_from(event.get("version")?.as_u64()?).ok()?;
            Some(((task, version), event.get("delivered_at")?.as_str()?.to_owned()))
        };
        self.book().seen.extend(events.iter().filter_map(read));
    }

    /// What they got until now.
    pub(crate) fn until_now(&self) -> Book {
        self.book().clone()
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> anyhow::Result<(StatusCode, Value)> {
        let request = self.http.request(method, format!("{}/{path}", self.base));
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let response = request.send().await.context("there was no answer")?;
        Ok((response.status(), response.json().await.context("the answer was no JSON")?))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
