//! The task-poller as it is composed in the cloud.

use lambda_runtime::Error;
use pudu_lambda::settings::Settings;

use crate::TaskPoller;

/// Builds the context from the settings; opens no connection and reads no row.
pub async fn compose(settings: &Settings) -> Result<TaskPoller, Error> {
    let cloud = pudu_compose::cloud(settings, "task-poller").await?;
    Ok(TaskPoller::new(cloud.wiring.drain(), cloud.wiring.poller()))
}
