//! The way to the table: the embedded engine in the data folder, or a DynamoDB endpoint. Holding a store holds the folder.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{Builder, Credentials, Region};
use pudu_lambda::aws;
use pudu_lambda::env::{Process, Source};

use crate::cli::StoreArgs;
use crate::engine::{Engine, FolderLock, LockError, OpenError, REGION};
use crate::folder::DataFolder;

/// How the environment names credentials; without any of these, none are looked for anywhere else: asking an instance's
/// metadata takes seconds where there is none.
const CREDENTIALS: [&str; 5] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];

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
            return Ok(Self { client: engine.client(), table, folder, engine: Some(engine), _lock: None });
        };
        let url = reqwest::Url::parse(endpoint).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        if url.is_none_or(|url| !url.has_host()) {
            return Err(StoreError::Endpoint);
        }
        let lock = FolderLock::acquire(folder.path()).map_err(OpenError::from)?;
        Ok(Self { client: remote(endpoint).await, table, folder, engine: None, _lock: Some(lock) })
    }
}

/// A client of a DynamoDB endpoint, set up as in the cloud but for what the endpoint does not need.
async fn remote(endpoint: &str) -> Client {
    let named = CREDENTIALS.iter().any(|name| Process.get(name).is_some());
    let shared = aws::config().await;
    let mut config = Builder::from(&shared).endpoint_url(endpoint);
    if !named {
        config = config.credentials_provider(Credentials::new("local", "local", None, None, "made up"));
    }
    if shared.region().is_none() {
        config = config.region(Region::new(REGION));
    }
    Client::from_conf(config.build())
}
