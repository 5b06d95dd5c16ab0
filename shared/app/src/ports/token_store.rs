//! OAuth tokens of servers, shared by every process through the table.

use std::sync::Arc;

use async_trait::async_trait;
use pudu_domain::{Token, key_part};

use super::{Clock, Random, SealKeys, StoreError};

/// The address of a token: a server by its name in the config, and a digest of whose token it is, so that another client or
/// another configured grant starts anew.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenKey {
    /// The server's name.
    pub server: String,
    /// The digest, in hex.
    pub identity: String,
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq)]
pub enum Replaced {
    /// It stands.
    Done,
    /// Somebody else wrote first; this is what is stored now.
    Lost(Option<Box<Token>>),
}

/// The rows of tokens.
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// The row, strongly consistent; none when there never was a token.
    async fn load(&self, key: &TokenKey) -> Result<Option<Token>, StoreError>;

    /// Puts `new` if the row is still the version that was read as `seen` ([`Token::is_unchanged`]). A write whose answer was
    /// lost is judged by the stored row: it is done if that is `new` itself.
    async fn replace(
        &self,
        key: &TokenKey,
        seen: Option<&Token>,
        new: &Token,
    ) -> Result<Replaced, StoreError>;
}

/// What tokens are kept and renewed with.
#[derive(Clone)]
pub struct TokenPorts {
    /// Their rows.
    pub store: Arc<dyn TokenStore>,
    /// The key that seals what is secret in them.
    pub keys: Arc<dyn SealKeys>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Nonces.
    pub random: Arc<dyn Random>,
}

impl TokenKey {
    /// The row's key: to it, and to their place in the row, its secrets are sealed.
    pub fn place(&self) -> String {
        format!("token#server#{}#{}", key_part::encode(&self.server), key_part::encode(&self.identity))
    }
}
