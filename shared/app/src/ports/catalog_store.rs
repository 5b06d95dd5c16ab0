//! What servers listed, kept in the table so that a cold process knows their tools without asking them.

use std::time::Duration;

use async_trait::async_trait;
use pudu_domain::Timestamp;

use super::{RawTool, StoreError, TaskProtocol};

/// How long a list is kept after its time is over. It still says then what a server's tools looked like, while the server
/// does not answer, and is gone for good when its entry in the config is.
pub const LISTING_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A server's tools as they were listed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoredListing {
    /// Every tool, in the server's order.
    pub tools: Vec<RawTool>,
    /// As what calls of them may become tasks, if they may.
    pub tasks: Option<TaskProtocol>,
    /// When they were asked for: a change of the server after this moment is not in here.
    pub listed_at: Timestamp,
    /// Until when they are taken as they are.
    pub fresh_until: Timestamp,
}

/// The lists of servers, each under the [`digest`](pudu_config::Server::digest) of the server's entry. They are hints: a
/// missing one costs a question to the server.
#[async_trait]
pub trait CatalogStore: Send + Sync {
    /// The list of a server under this digest; none when there is none or it was over for [`LISTING_KEPT`]. May be some
    /// seconds behind.
    async fn get(&self, server: &str, digest: &str) -> Result<Option<StoredListing>, StoreError>;

    /// Keeps a list until [`LISTING_KEPT`] after its time. One that was asked for later stays.
    async fn put(&self, server: &str, digest: &str, listing: &StoredListing) -> Result<(), StoreError>;

    /// Forgets every list of a server, whatever its digest.
    async fn forget(&self, server: &str) -> Result<(), StoreError>;
}
