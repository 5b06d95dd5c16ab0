//! The API keys: a row each, in one partition. Each is read at most once a second by each process.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use pudu_app::ports::{KeyStore, StoreError, StoredKey};
use pudu_domain::{KeyId, Timestamp};

use crate::condition::Expression;
use crate::item::api_key::{self, REVOKED_AT};
use crate::key::{API_KEYS, Key};
use crate::retry::Answer;
use crate::row::{attr, number};
use crate::table::{Table, Updated};
use crate::write::{Update, When, Write};

#[async_trait]
impl KeyStore for Table {
    async fn create(&self, key: &StoredKey) -> Result<bool, StoreError> {
        let put = [Write::put(api_key::ITEM, api_key::encode(key), When::Absent)];
        let Answer::Failed(failed) = self.write("create_key", &put).await? else { return Ok(true) };
        // No two keys give the same row, so an earlier attempt had written it.
        let stored = failed.row(0).map(api_key::decode).transpose()?;
        Ok(failed.retried && stored.as_ref() == Some(key))
    }

    async fn get(&self, id: &KeyId) -> Result<Option<StoredKey>, StoreError> {
        let row = self.get("key", &Key::ApiKey(id.clone()), true).await?;
        row.as_ref().map(api_key::decode).transpose()
    }

    async fn list(&self) -> Result<Vec<StoredKey>, StoreError> {
        let (mut keys, mut start) = (Vec::new(), None);
        loop {
            let condition = Expression::new("#pk = :pk")
                .names(&[attr::PK])
                .value(":pk", AttributeValue::S(API_KEYS.to_owned()));
            let output = self
                .query("keys", condition, |query| {
                    query.consistent_read(true).set_exclusive_start_key(start.take())
                })
                .await?;
            // Not one that does not decode in silence: it may be the one that somebody wants to revoke.
            let rows = output.items.unwrap_or_default();
            keys.extend(rows.iter().map(api_key::decode).collect::<Result<Vec<_>, _>>()?);
            start = output.last_evaluated_key;
            if start.is_none() {
                return Ok(keys);
            }
        }
    }

    async fn revoke(&self, id: &KeyId, at: Timestamp) -> Result<Option<StoredKey>, StoreError> {
        let update = Update {
            key: Key::ApiKey(id.clone()),
            // The first time stays: it is when the key was closed.
            set: "SET #revoked = if_not_exists(#revoked, :at)",
            names: vec![REVOKED_AT],
            values: vec![(":at", number(at.as_millis()))],
            when: When::Present,
        };
        match self.update("revoke_key", &update).await? {
            Answer::Done(Updated::Row(row)) => api_key::decode(&row).map(Some),
            Answer::Done(Updated::Unfit(source)) => {
                Err(StoreError::Refused { operation: "revoke_key", source })
            }
            Answer::Failed(_) => Ok(None),
        }
    }
}
