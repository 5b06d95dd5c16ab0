//! The way to the table: the embedded engine in the data folder, or a DynamoDB endpoint. Holding a store holds the folder.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Credentials, Region};
use pudu_lambda::aws;
use pudu_lambda::env::{Process, Source};

use crate::cli::StoreArgs;
use crate::engine::{Engine, FolderLock, LockError, OpenError, REGION};
use crate::folder::DataFolder;

/// What names credentials that only the SDK's own chain can get.
const CHAIN: [&str; 4] = [
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];
/// Connecting takes milliseconds; what takes longer is better tried again.
const CONNECT: Duration = Duration::from_secs(2);
/// A table that has not answered by then is treated as not answering.
const ATTEMPT: Duration = Duration::from_secs(5);

/// An opened table.
pub struct Store {
    /// The way to it.
    pub client: Client,
    /// Its name.
    pub table: String,
    /// The held folder.
    pub folder: DataFolder,
    /// The engine, when the table is in the folder.
    pub engine: Option<Engine>,
    _lock: Option<FolderLock>,
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder cannot be held, or the engine does not start.
    #[error(transparent)]
    Folder(#[from] OpenError),
    /// The endpoint is no address.
    #[error("--dynamodb-endpoint must be an http or https URL such as http://127.0.0.1:8000")]
    Endpoint,
}

impl StoreError {
    /// Whether another process holds the folder.
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Folder(OpenError::Lock(LockError::Held { .. })))
    }
}

impl Store {
    /// Takes the folder and opens the way to the table; no request is made.
    pub async fn open(args: &StoreArgs) -> Result<Self, StoreError> {
        let folder = DataFolder::new(&args.data_dir);
        let table = args.table.clone();
        let Some(endpoint) = &args.dynamodb_endpoint else {
            let engine = Engine::open(folder.path())?;
            folder.forget_announced();
            return Ok(Self { client: engine.client(), table, folder, engine: Some(engine), _lock: None });
        };
        check(endpoint)?;
        let lock = FolderLock::acquire(folder.path()).map_err(OpenError::from)?;
        folder.forget_announced();
        Ok(Self { client: remote(endpoint).await, table, folder, engine: None, _lock: Some(lock) })
    }

    /// The same without holding the folder, for a look at the table behind the endpoint that `args` names; none when
    /// they name none, because the engine's table cannot be opened twice.
    pub async fn beside(args: &StoreArgs) -> Result<Option<Self>, StoreError> {
        let Some(endpoint) = &args.dynamodb_endpoint else { return Ok(None) };
        check(endpoint)?;
        let (folder, table) = (DataFolder::new(&args.data_dir), args.table.clone());
        Ok(Some(Self { client: remote(endpoint).await, table, folder, engine: None, _lock: None }))
    }
}

fn check(endpoint: &str) -> Result<(), StoreError> {
    let url = reqwest::Url::parse(endpoint).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    if url.is_some_and(|url| url.has_host()) { Ok(()) } else { Err(StoreError::Endpoint) }
}

/// A client of a DynamoDB endpoint, set up as in the cloud.
async fn remote(endpoint: &str) -> Client {
    if CHAIN.iter().any(|name| Process.get(name).is_some()) {
        return Client::from_conf(Builder::from(&aws::config().await).endpoint_url(endpoint).build());
    }
    // Without the chain: where nothing names credentials or a region it asks an instance's metadata, which is not on
    // this machine and takes seconds.
    let credentials = match (Process.get("AWS_ACCESS_KEY_ID"), Process.get("AWS_SECRET_ACCESS_KEY")) {
        (Some(id), Some(secret)) => {
            Credentials::new(id, secret, Process.get("AWS_SESSION_TOKEN"), None, "environment")
        }
        _ => Credentials::new("local", "local", None, None, "made up"),
    };
    let region = Process.get("AWS_REGION").or_else(|| Process.get("AWS_DEFAULT_REGION"));
    let timeouts =
        TimeoutConfig::builder().connect_timeout(CONNECT).operation_attempt_timeout(ATTEMPT).build();
    let config = Builder::new()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(endpoint)
        .region(Region::new(region.unwrap_or_else(|| REGION.to_owned())))
        .credentials_provider(credentials)
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts);
    Client::from_conf(config.build())
}

#[cfg(test)]
mod tests;
