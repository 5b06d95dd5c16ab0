//! Waking a function by invoking it asynchronously: the platform takes the event and answers at once.

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_lambda::Client;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::InvocationType;
use pudu_app::ports::{Background, Wake, WakeError, Waker};

use crate::settings::Settings;
use crate::wake_event;

/// Invokes the functions that the settings name.
#[derive(Debug, Clone)]
pub struct LambdaWaker {
    client: Client,
    poller: Option<String>,
    notifier: Option<String>,
    agent: Option<String>,
}

impl LambdaWaker {
    /// A waker of the functions that `settings` names; none when they name none.
    pub fn from_settings(settings: &Settings, aws: &SdkConfig) -> Option<Self> {
        let (poller, notifier) = (settings.poller_function.clone(), settings.notifier_function.clone());
        let agent = settings.agent_function.clone();
        let any = poller.is_some() || notifier.is_some() || agent.is_some();
        any.then(|| Self { client: Client::new(aws), poller, notifier, agent })
    }
}

#[async_trait]
impl Waker for LambdaWaker {
    async fn wake(&self, function: Background, items: &[Wake]) -> Result<(), WakeError> {
        let name = match function {
            Background::Poller => &self.poller,
            Background::Notifier => &self.notifier,
            Background::Agent => &self.agent,
        };
        let Some(name) = name else { return Ok(()) };
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| WakeError {
            function: function.as_str(),
            source,
        };
        let event = wake_event::encode(items).map_err(|error| failed(error.into()))?;
        let invoked = self
            .client
            .invoke()
            .function_name(name)
            .invocation_type(InvocationType::Event)
            .payload(Blob::new(event.to_string()))
            .send()
            .await;
        invoked.map(drop).map_err(|error| failed(Box::new(error)))
    }
}
