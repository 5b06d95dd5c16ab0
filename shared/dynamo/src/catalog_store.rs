//! What servers listed.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use pudu_app::ports::{CatalogStore, StoreError, StoredListing};

use crate::condition::Expression;
use crate::item::catalogue;
use crate::item::parts::Rows;
use crate::key::{Key, catalogue_pk};
use crate::row::{Reader, attr};
use crate::table::Table;
use crate::write::{When, Write};

#[cfg(test)]
mod tests;

#[async_trait]
impl CatalogStore for Table {
    async fn get(&self, server: &str, digest: &str) -> Result<Option<StoredListing>, StoreError> {
        const OPERATION: &str = "catalogue";
        // A list is a hint: one that is seconds behind costs at most a question, and half the price.
        let Some(row) = self.get(OPERATION, &Key::catalogue(server, digest), false).await? else {
            return Ok(None);
        };
        if catalogue::is_over(&row, self.now())? {
            return Ok(None);
        }
        let head = catalogue::decode_head(&row)?;
        let part = |content: &str, part| Key::catalogue_part(server, digest, content, part);
        let packed = self.content(OPERATION, catalogue::PART, head, part).await?;
        catalogue::decode(&row, &packed).map(Some)
    }

    async fn put(&self, server: &str, digest: &str, listing: &StoredListing) -> Result<(), StoreError> {
        const OPERATION: &str = "keep_catalogue";
        let rows = catalogue::encode(server, digest, listing);
        let Rows { parts, head } = rows.map_err(|error| error.refused(OPERATION))?;
        for part in parts {
            self.write(OPERATION, &[Write::put(catalogue::PART, part, When::Always)]).await?;
        }
        // A list that was asked for later is there: as good as done.
        self.write(OPERATION, &[Write::put(catalogue::ITEM, head, When::NotListedAfter(listing.listed_at))])
            .await
            .map(drop)
    }

    async fn forget(&self, server: &str) -> Result<(), StoreError> {
        const OPERATION: &str = "forget_catalogue";
        let mut start = None;
        loop {
            let condition = Expression::new("#pk = :pk")
                .names(&[attr::PK])
                .value(":pk", AttributeValue::S(catalogue_pk(server)));
            let output = self
                .query(OPERATION, condition, |query| {
                    query
                        .projection_expression("#pk, sk")
                        .consistent_read(true)
                        .set_exclusive_start_key(start.take())
                })
                .await?;
            let rows = output.items.unwrap_or_default();
            let keys: Result<Vec<Key>, StoreError> =
                rows.iter().map(|row| Reader::unversioned(catalogue::ITEM, row).key()).collect();
            // One by one and not in a transaction, which pays twice for each row and is refused over 4 MB of them. In the
            // order of their keys a head goes before its parts, so nobody reads a list that is half gone.
            for key in keys? {
                self.write(OPERATION, &[Write::Delete(key)]).await?;
            }
            start = output.last_evaluated_key;
            if start.is_none() {
                return Ok(());
            }
        }
    }
}
