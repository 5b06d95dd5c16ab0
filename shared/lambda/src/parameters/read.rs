//! Asking Parameter Store: by name, ten at a time, decrypted.

use std::error::Error;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_ssm::Client;
use aws_sdk_ssm::error::{ProvideErrorMetadata, SdkError};
use secrecy::SecretString;

use crate::settings::ParameterPrefix;

/// Most names in one request (`GetParameters`).
const BATCH: usize = 10;
/// Reading is repeatable, unlike what the SDK does for the table: throttling is worth another try.
const ATTEMPTS: u32 = 3;
/// The first wait between two tries.
const BACKOFF: Duration = Duration::from_millis(50);
/// Longest that one request is waited for, with its tries: a call to a server stands behind it.
const LIMIT: Duration = Duration::from_secs(5);

/// The service's client, and where it may look.
pub(super) struct Reader {
    client: Client,
    prefix: ParameterPrefix,
}

/// What came of a reading.
#[derive(Default)]
pub(super) struct Outcome {
    /// Of each variable that was answered for: its value, or none when there is no such parameter.
    pub(super) values: Vec<(String, Option<SecretString>)>,
    /// What was not answered.
    pub(super) failures: Vec<ReadError>,
}

/// Variables that could not be read. Who may see it is the log: the source has the service's words.
#[derive(Debug, thiserror::Error)]
#[error("the parameter store did not give them: {problem}")]
pub(super) struct ReadError {
    /// Which variables.
    pub(super) names: Vec<String>,
    problem: &'static str,
    /// Whether it was an answer about these names, and not that there was none.
    refused: bool,
    source: Box<dyn Error + Send + Sync>,
}

impl Reader {
    pub(super) fn new(aws: &SdkConfig, prefix: ParameterPrefix) -> Self {
        let timeouts = match aws.timeout_config() {
            Some(general) => general.to_builder(),
            None => TimeoutConfig::builder(),
        };
        let config = aws_sdk_ssm::config::Builder::from(aws)
            .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS).with_initial_backoff(BACKOFF))
            .timeout_config(timeouts.operation_timeout(LIMIT).build());
        Self { client: Client::from_conf(config.build()), prefix }
    }

    /// Reads `names`. A parameter that the service refuses hides no other; a service that does not answer is not asked for
    /// the rest.
    pub(super) async fn read(&self, names: Vec<String>) -> Outcome {
        let mut outcome = Outcome::default();
        let (possible, impossible): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| self.prefix.parameter(name).is_some());
        outcome.values.extend(impossible.into_iter().map(|name| (name, None)));
        let mut batches: Vec<Vec<String>> = possible.chunks(BATCH).rev().map(<[String]>::to_vec).collect();
        while let Some(batch) = batches.pop() {
            match self.batch(&batch).await {
                Ok(values) => outcome.values.extend(values),
                // It does not say whose fault it is: each by itself.
                Err(error) if error.refused && batch.len() > 1 => {
                    batches.extend(batch.into_iter().map(|name| vec![name]));
                }
                Err(error) if error.refused => outcome.failures.push(error),
                Err(mut error) => {
                    error.names.extend(batches.into_iter().flatten());
                    outcome.failures.push(error);
                    return outcome;
                }
            }
        }
        outcome
    }

    async fn batch(&self, names: &[String]) -> Result<Vec<(String, Option<SecretString>)>, ReadError> {
        let wanted = names.iter().filter_map(|name| self.prefix.parameter(name)).collect();
        let answer = self.client.get_parameters().set_names(Some(wanted)).with_decryption(true).send().await;
        let found = answer.map_err(|error| failed(names, error))?.parameters.unwrap_or_default();
        let mut values: Vec<(String, Option<SecretString>)> =
            names.iter().map(|name| (name.clone(), None)).collect();
        for parameter in found {
            let name = parameter.name.as_deref().and_then(|name| self.prefix.variable(name));
            let slot = values.iter_mut().find(|(wanted, _)| Some(wanted.as_str()) == name);
            if let Some((_, slot)) = slot {
                *slot = parameter.value.map(SecretString::from);
            }
        }
        Ok(values)
    }
}

/// Of the SDK's envelope only its source goes on: its `Debug` would show the raw answer, and with it values.
fn failed<E>(names: &[String], error: SdkError<E>) -> ReadError
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let (problem, refused) = match error.code().unwrap_or_default() {
        "AccessDeniedException" => (
            "the role may not read it; grant it ssm:GetParameters under the prefix, and kms:Decrypt on a key of your own",
            true,
        ),
        "InvalidKeyId" => ("the key that it is encrypted with cannot be used; enable it", true),
        "ValidationException" => ("the service takes no such name", true),
        "ThrottlingException" | "InternalServerError" => ("it is not available right now", false),
        "" => ("it could not be asked, or did not answer; check network and credentials", false),
        _ => ("it refused the request", false),
    };
    let source = error.into_source().unwrap_or_else(|envelope| Box::new(envelope));
    ReadError { names: names.to_vec(), problem, refused, source }
}
