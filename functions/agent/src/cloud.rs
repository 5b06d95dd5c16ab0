//! The agent as it is composed in the cloud.

use std::sync::Arc;

use lambda_runtime::Error;
use pudu_lambda::settings::Settings;

use crate::Agent;

/// Builds the context from the settings; opens no connection and reads no row.
pub async fn compose(settings: &Settings) -> Result<Agent, Error> {
    let cloud = pudu_compose::cloud(settings, pudu_compose::AGENT).await?;
    let runner = cloud.runner(pudu_compose::AGENT)?;
    Ok(Agent::new(cloud.wiring.drain(), Arc::new(runner)))
}
