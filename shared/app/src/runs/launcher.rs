//! The run that tells a thread's agent of an event (reference 7.5).

use async_trait::async_trait;
use pudu_domain::chat::{Message, Speaker};
use pudu_domain::run::{Operation, Outcome, Refused, Strategy};
use pudu_domain::{IdempotencyKey, RunId, RunKey, ThreadKey};
use serde_json::{Map, Value, json};

use super::configured::LEAD;
use super::{AdmitError, Runs, Wanted};
use crate::chain::Chain;
use crate::ports::{Launch, LaunchError, LookUpError, RunLauncher, RunStatus};

/// Starts runs that nobody asked for, on behalf of the owners of threads.
#[derive(Clone)]
pub struct Launcher(Runs);

impl Launcher {
    /// A launcher of these runs.
    pub const fn new(runs: Runs) -> Self {
        Self(runs)
    }
}

#[async_trait]
impl RunLauncher for Launcher {
    async fn launch(&self, launch: Launch) -> Result<RunId, LaunchError> {
        let failed =
            |error: &(dyn std::error::Error + 'static)| LaunchError::Failed(Chain(error).to_string());
        let conversation = self.0.conversation(&launch.thread).await.map_err(|error| failed(&error))?;
        let Some(conversation) = conversation else {
            return Err(LaunchError::MissingThread("the thread has no conversation, or is gone".to_owned()));
        };
        let key = IdempotencyKey::parse(launch.key).map_err(|error| failed(&error))?;
        let event = json!({
            "task_id": launch.event.task.as_str(),
            "dispatch_version": launch.event.version,
            "dispatch_attempt": launch.event.attempt,
        });
        let wanted = Wanted {
            operation: Operation::Run,
            thread: launch.thread,
            must_exist: true,
            assistant: conversation.assistant.unwrap_or_else(|| LEAD.to_owned()),
            input: vec![Message::new(Speaker::Human, "", launch.text).hidden()],
            options: Map::from_iter([("non_interactive".to_owned(), Value::Bool(true))]),
            metadata: Map::from_iter([("mcp_task_notification".to_owned(), event)]),
            kwargs: Map::from_iter([("on_disconnect".to_owned(), "continue".into())]),
            strategy: Strategy::Reject,
            scope: conversation.scope,
            base: None,
            secrets: std::collections::BTreeMap::new(),
            key: Some(key),
        };
        match self.0.admit(wanted).await {
            Ok(admitted) => Ok(admitted.run.key.id),
            Err(AdmitError::Refused(Refused::Busy | Refused::QueueFull)) => Err(LaunchError::Busy),
            Err(error @ AdmitError::NoThread) => Err(LaunchError::MissingThread(error.to_string())),
            Err(error) => Err(failed(&error)),
        }
    }

    async fn status(&self, thread: &ThreadKey, run: &RunId) -> Result<Option<RunStatus>, LookUpError> {
        let key = RunKey { thread: thread.clone(), id: run.clone() };
        let run = self.0.store.load(&key).await.map_err(|error| LookUpError(Chain(&error).to_string()))?;
        Ok(run.map(|run| match run.end() {
            None => RunStatus::Running,
            Some(end) if end.outcome == Outcome::Success => RunStatus::Succeeded,
            Some(end) => RunStatus::Failed(match &end.error {
                Some(error) => error.as_str().to_owned(),
                None => format!("the run ended as {}", end.outcome.as_str()),
            }),
        }))
    }
}
