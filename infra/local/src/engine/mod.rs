//! The embedded DynamoDB-compatible engine, for one machine and for tests.
//!
//! Wraps one `dynoxide` database: a `SQLite` file in a folder, or memory. Hands out AWS SDK clients that reach it
//! without a socket, and an HTTP endpoint for other processes. May touch: its folder, and a loopback port when asked.
//!
//! Promises: an acknowledged write is on disk; one process at a time holds a folder; what a client sees is the
//! same in process and over the endpoint, because both go through `dispatch`.
//! Does not emulate: eventual consistency, throttling, transaction conflicts, streams.

mod connector;
mod dispatch;
mod endpoint;
mod folder;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Credentials, HttpClient, Region, StalledStreamProtectionConfig,
};
use dynoxide::{Database, DynoxideError};

pub use connector::{EmbeddedConnector, Mode};
pub use endpoint::{Endpoint, EndpointError};
pub use folder::{FolderLock, LockError};

/// Region of every client and of the endpoint's signatures: the engine ignores it, the SDK demands one.
pub const REGION: &str = "local";

/// File in the data folder that holds the table.
const DATABASE_FILE: &str = "table.sqlite";

/// A running engine. Clones are the same engine; the folder stays locked until the last clone, client, connector
/// and endpoint of it is dropped.
#[derive(Clone, Debug)]
pub struct Engine {
    store: Arc<Store>,
}

/// Why an engine could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder is held by another process, or could not be made or locked.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The folder's path cannot be given to `SQLite`.
    #[error("the path of the data folder {path} is not valid UTF-8: choose another folder")]
    Path {
        /// The path, with the offending bytes replaced.
        path: String,
    },
    /// The engine refused the file.
    #[error("the table file {path} cannot be opened: restore it from a backup or choose another folder")]
    Database {
        /// The file.
        path: String,
        /// What the engine said.
        #[source]
        source: DynoxideError,
    },
    /// The engine could not make a table store in memory.
    #[error("an engine in memory cannot be made")]
    Memory(#[source] DynoxideError),
}

/// Why expired rows could not be removed.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The engine failed while it looked for expired rows.
    #[error("expired rows cannot be removed; the next sweep tries again")]
    Database(#[source] DynoxideError),
    /// The runtime is shutting down.
    #[error("the removal of expired rows was stopped")]
    Stopped(#[source] tokio::task::JoinError),
}

/// The database together with the lock that makes it ours: neither outlives the other.
struct Store {
    database: Database,
    _lock: Option<FolderLock>,
}

impl Engine {
    /// Opens the table of `folder`, making the folder (mode 0700) and an empty table store if there is none.
    ///
    /// Blocks while it opens. Fails with [`LockError::Held`] while another process, or another engine of this one, holds the folder.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        let lock = FolderLock::acquire(folder)?;
        let file = folder.join(DATABASE_FILE);
        folder::touch_private(&file).map_err(|source| LockError::Io { folder: folder.to_owned(), source })?;
        let path =
            file.to_str().ok_or_else(|| OpenError::Path { path: folder.to_string_lossy().into_owned() })?;
        let database =
            Database::new(path).map_err(|source| OpenError::Database { path: path.to_owned(), source })?;
        Ok(Self { store: Arc::new(Store { database, _lock: Some(lock) }) })
    }

    /// An empty engine that ends with its last clone.
    pub fn in_memory() -> Result<Self, OpenError> {
        let database = Database::memory().map_err(OpenError::Memory)?;
        Ok(Self { store: Arc::new(Store { database, _lock: None }) })
    }

    /// An SDK client that reaches this engine in process, on the blocking pool; see [`client_over`].
    pub fn client(&self) -> aws_sdk_dynamodb::Client {
        client_over(self.connector(Mode::Blocking))
    }

    /// The connector below [`Engine::client`], for a caller that chooses the mode or wraps faults around it.
    pub fn connector(&self, mode: Mode) -> EmbeddedConnector {
        EmbeddedConnector::new(Arc::clone(&self.store), mode)
    }

    /// Serves this engine over HTTP on `addr` (loopback only; port 0 picks a free one) to processes that sign with
    /// `access_key` as their access key id. Serving ends with [`Endpoint::stop`] or when the endpoint is dropped.
    pub async fn serve(
        &self,
        addr: SocketAddr,
        access_key: impl Into<String> + Send,
    ) -> Result<Endpoint, EndpointError> {
        Endpoint::start(Arc::clone(&self.store), addr, access_key.into()).await
    }

    /// Removes the rows whose TTL is in the past and returns how many, as DynamoDB does by itself: call it on a
    /// timer. Other requests wait for one page of the sweep at most.
    pub async fn sweep_ttl(&self) -> Result<usize, SweepError> {
        let store = Arc::clone(&self.store);
        tokio::task::spawn_blocking(move || store.database.sweep_ttl())
            .await
            .map_err(SweepError::Stopped)?
            .map_err(SweepError::Database)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

/// An SDK client over any HTTP client, set up as every store client here is: no retries (the stores judge a lost
/// answer by the old image, a blind second attempt would hide it) and made-up credentials.
pub fn client_over(http: impl HttpClient + 'static) -> aws_sdk_dynamodb::Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(REGION))
        .endpoint_url("http://embedded.invalid")
        .credentials_provider(Credentials::new("embedded", "embedded", None, None, "embedded"))
        .retry_config(RetryConfig::disabled())
        // Watches the throughput of a socket; there is none, and it would start timers under a virtual clock.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .http_client(http)
        .build();
    aws_sdk_dynamodb::Client::from_conf(config)
}
