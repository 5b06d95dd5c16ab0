//! The records of changes: one partition, ordered by time. Changes by administrators are rare, so it is never hot.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use pudu_app::ports::{AuditLog, AuditRecord, StoreError};

use crate::condition::Expression;
use crate::item::audit;
use crate::key::AUDIT;
use crate::row::attr;
use crate::table::Table;
use crate::write::{When, Write};

#[async_trait]
impl AuditLog for Table {
    async fn put(&self, record: &AuditRecord) -> Result<(), StoreError> {
        let put = [Write::put(audit::ITEM, audit::encode(record), When::Always)];
        self.write("record_change", &put).await.map(drop)
    }

    /// A row that does not decode is left out and logged: one of them must not hide the others.
    async fn list(&self, limit: usize, before: Option<&str>) -> Result<Vec<AuditRecord>, StoreError> {
        let (mut records, mut start) = (Vec::new(), None);
        while records.len() < limit {
            let wanted = limit - records.len();
            let condition = match before {
                None => Expression::new("#pk = :pk").names(&[attr::PK]),
                Some(id) => Expression::new("#pk = :pk AND #sk < :before")
                    .names(&[attr::PK, attr::SK])
                    .value(":before", AttributeValue::S(id.to_owned())),
            };
            let condition = condition.value(":pk", AttributeValue::S(AUDIT.to_owned()));
            let output = self
                .query("changes", condition, |query| {
                    query
                        .consistent_read(true)
                        .scan_index_forward(false)
                        .limit(i32::try_from(wanted).unwrap_or(i32::MAX))
                        .set_exclusive_start_key(start.take())
                })
                .await?;
            let rows = output.items.unwrap_or_default();
            records.extend(rows.iter().filter_map(|row| audit::decode(row).inspect_err(log_left_out).ok()));
            start = output.last_evaluated_key;
            if start.is_none() {
                break;
            }
        }
        Ok(records)
    }
}

fn log_left_out(error: &StoreError) {
    tracing::error!(%error, "a record of a change was left out of the list");
}
