//! What is known of peers. The last writer wins: it is a hint.

use async_trait::async_trait;
use pudu_app::ports::{Era, PeerStore, StoreError};

use crate::item::peer;
use crate::key::Key;
use crate::table::Table;
use crate::write::{When, Write};

#[async_trait]
impl PeerStore for Table {
    /// Consistently: what was forgotten because it was wrong must not come back.
    async fn recall(&self, key: &str) -> Result<Option<Era>, StoreError> {
        let row = self.get("recall_peer", &Key::Peer(key.to_owned()), true).await?;
        row.map_or(Ok(None), |row| peer::decode(&row, self.now()))
    }

    async fn remember(&self, key: &str, era: Era) -> Result<(), StoreError> {
        let row = peer::encode(&Key::Peer(key.to_owned()), era, self.now());
        self.write("remember_peer", &[Write::put(peer::ITEM, row, When::Always)]).await.map(drop)
    }

    async fn forget(&self, key: &str) -> Result<(), StoreError> {
        let delete = [Write::Delete(Key::Peer(key.to_owned()))];
        self.write("forget_peer", &delete).await.map(drop)
    }
}
