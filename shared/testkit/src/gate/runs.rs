//! Whoever runs agents, behind a gate. A launch whose answer is lost may have started a run.

use async_trait::async_trait;
use pudu_app::ports::{Launch, LaunchError, LookUpError, RunLauncher, RunStatus};
use pudu_domain::{RunId, ThreadKey};

use super::Gated;

#[async_trait]
impl RunLauncher for Gated<dyn RunLauncher> {
    async fn launch(&self, launch: Launch) -> Result<RunId, LaunchError> {
        let call = self.gate.call("runs.launch", self.inner.launch(launch)).await;
        call.unwrap_or_else(|broken| Err(LaunchError::Failed(broken.to_string())))
    }

    async fn status(&self, thread: &ThreadKey, run: &RunId) -> Result<Option<RunStatus>, LookUpError> {
        let call = self.gate.call("runs.status", self.inner.status(thread, run)).await;
        call.unwrap_or_else(|broken| Err(LookUpError(broken.to_string())))
    }
}
