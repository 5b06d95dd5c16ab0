//! Many rows by their keys in few requests.

use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemOutput;
use aws_sdk_dynamodb::types::KeysAndAttributes;
use pudu_app::ports::StoreError;

use crate::classify::{Fault, fault};
use crate::key::Key;
use crate::row::{Row, is_over, key_of};
use crate::table::{Table, read};

/// Most keys of one request; a limit of DynamoDB's.
const AT_ONCE: usize = 100;

/// A batch of which nothing was read.
#[derive(Debug, thiserror::Error)]
#[error("the table put off every key of a batch")]
struct PutOff;

impl Table {
    /// The rows at `keys`, which must be different ones; in any order, without those that are not there. A table that answers
    /// only a part, for its size or because it is throttled, is asked for the rest.
    pub(crate) async fn batch(
        &self,
        operation: &'static str,
        keys: &[Key],
        consistent: bool,
    ) -> Result<Vec<Row>, StoreError> {
        let mut rows = Vec::with_capacity(keys.len());
        for keys in keys.chunks(AT_ONCE) {
            let mut left: Vec<Row> = keys.iter().map(key_of).collect();
            while !left.is_empty() {
                let output = self.part(operation, &left, consistent).await?;
                self.meter.read(operation, output.consumed_capacity());
                let read = output.responses.into_iter().flatten().flat_map(|(_, rows)| rows);
                rows.extend(read.filter(|row| !is_over(row, self.now())));
                let unread = output.unprocessed_keys.into_iter().flatten();
                left = unread.flat_map(|(_, unread)| unread.keys).collect();
            }
        }
        Ok(rows)
    }

    async fn part(
        &self,
        operation: &'static str,
        keys: &[Row],
        consistent: bool,
    ) -> Result<BatchGetItemOutput, StoreError> {
        let answer = self.run(operation, |_| async move {
            let keys = KeysAndAttributes::builder().set_keys(Some(keys.to_vec()));
            let keys = keys.consistent_read(consistent).build()?;
            let output = self
                .client
                .batch_get_item()
                .request_items(&*self.name, keys)
                .set_return_consumed_capacity(self.meter.wanted())
                .send()
                .await
                .map_err(fault)?;
            let is_empty = output.responses.as_ref().is_none_or(|tables| tables.values().all(Vec::is_empty));
            let put_off = output.unprocessed_keys.as_ref().is_some_and(|tables| !tables.is_empty());
            if is_empty && put_off { Err(Fault::Rejected(Box::new(PutOff))) } else { Ok(output) }
        });
        read(operation, answer.await?)
    }
}
