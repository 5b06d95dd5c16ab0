//! How each server is spoken with, once somebody found out.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;

/// A way of speaking MCP over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    /// Revision 2026-07-28: one POST per call, no handshake.
    Stateless,
    /// Revisions 2025-03-26 to 2025-11-25, and 2024-11-05 over the same transport: a handshake and a session.
    Session,
    /// The HTTP+SSE transport of 2024-11-05: a stream of events, and POSTs beside it.
    Events,
}

impl Era {
    /// How long it is remembered. An older one for a day only: it is also what a peer seems to speak whose answer to the
    /// question was lost, and what it spoke before it was upgraded, and nothing refuses the old way of speaking. The newest
    /// one is refused at once where it is wrong; after a month the peer is likely gone.
    pub const fn kept(self) -> Duration {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        match self {
            Self::Stateless => DAY.saturating_mul(30),
            Self::Session | Self::Events => DAY,
        }
    }
}

/// What is known of peers, by a key that holds no secret: 64 hex digits, a digest of scheme, host, port and path.
///
/// It is a hint: one that is wrong is met by a refusal, forgotten, and asked again. So the last writer wins. It is known for
/// as long as [`Era::kept`] says, counted from when it was remembered last.
#[async_trait]
pub trait PeerStore: Send + Sync {
    /// The era of a peer, when it is known.
    async fn recall(&self, key: &str) -> Result<Option<Era>, StoreError>;

    /// Remembers it.
    async fn remember(&self, key: &str, era: Era) -> Result<(), StoreError>;

    /// Forgets it. Nothing happens where nothing is known.
    async fn forget(&self, key: &str) -> Result<(), StoreError>;
}
