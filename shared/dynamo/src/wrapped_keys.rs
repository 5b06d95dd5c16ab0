//! The wrapped sealing key: the first one that is put stays.

use async_trait::async_trait;
use pudu_app::ports::{StoreError, WrappedKeys};

use crate::item::wrapped_key;
use crate::key::Key;
use crate::retry::Answer;
use crate::table::Table;
use crate::write::{When, Write};

#[cfg(test)]
mod tests;

#[async_trait]
impl WrappedKeys for Table {
    async fn get(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let row = self.get("wrapped_key", &Key::WrappedKey, true).await?;
        row.as_ref().map(wrapped_key::decode).transpose()
    }

    /// A put whose answer was lost finds itself when it is tried again: whoever won, the stored key is the answer.
    async fn put_if_absent(&self, wrapped: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        let row = wrapped_key::encode(wrapped.clone());
        let put = [Write::put(wrapped_key::ITEM, row, When::Absent)];
        match self.write("keep_wrapped_key", &put).await? {
            Answer::Done(()) => Ok(wrapped),
            Answer::Failed(failed) => match failed.row(0) {
                Some(kept) => wrapped_key::decode(kept),
                // The row that stood in the way is gone again, which nothing of ours does.
                None => Err(StoreError::Unavailable {
                    operation: "keep_wrapped_key",
                    source: "the kept key was not shown".into(),
                }),
            },
        }
    }
}
