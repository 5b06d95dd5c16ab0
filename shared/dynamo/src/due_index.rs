//! The due index: a sparse index whose rows are hints.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use pudu_app::ports::{DueIndex, DuePage, Hint, ItemKey, StoreError};
use pudu_domain::{Lane, ServerTag, Timestamp};

use crate::condition::Expression;
use crate::key::{Key, due_pk};
use crate::row::{Reader, Row, attr, number};
use crate::schema;
use crate::table::Table;

#[cfg(test)]
mod tests;

const OPERATION: &str = "due";
const ITEM: &str = "due index row";

/// A cursor that is not from an earlier page.
#[derive(Debug, thiserror::Error)]
#[error("the cursor is none that an earlier page gave; begin without one")]
struct ForeignCursor;

#[async_trait]
impl DueIndex for Table {
    async fn due(
        &self,
        lane: Lane,
        shard: u8,
        until: Timestamp,
        limit: usize,
        after: Option<&str>,
    ) -> Result<DuePage, StoreError> {
        let partition = due_pk(lane, shard);
        let start = match after {
            None => None,
            Some(cursor) => Some(start_key(&partition, cursor).ok_or_else(|| StoreError::Refused {
                operation: OPERATION,
                source: Box::new(ForeignCursor),
            })?),
        };
        let condition = Expression::new("#due_pk = :due_pk AND #due_at <= :until")
            .names(&[attr::DUE_PK, attr::DUE_AT])
            .value(":due_pk", AttributeValue::S(partition))
            .value(":until", number(until.as_millis()));
        let limit = i32::try_from(limit.max(1)).unwrap_or(i32::MAX);
        let output = self
            .query(OPERATION, condition, |query| {
                query.index_name(schema::INDEX).limit(limit).set_exclusive_start_key(start)
            })
            .await?;
        let rows = output.items.unwrap_or_default();
        // A row that names no item of ours can be claimed by nobody; it must not hide the rest of its partition.
        let hints = rows.iter().filter_map(|row| hint(row).inspect_err(log_left_out).ok()).collect();
        let next = output.last_evaluated_key.as_ref().map(cursor).transpose()?;
        Ok(DuePage { hints, next })
    }
}

fn log_left_out(error: &StoreError) {
    tracing::error!(error = %error, "a row of the due index was left out");
}

fn hint(row: &Row) -> Result<Hint, StoreError> {
    let reader = Reader::unversioned(ITEM, row);
    let key = match reader.key()? {
        Key::Task(key) => ItemKey::Task(key),
        Key::Note(key) => ItemKey::Note(key),
        Key::Thread(key) => ItemKey::Thread(key),
        Key::Run(key) => ItemKey::Run(key),
        _ => {
            return Err(
                reader.corrupt(attr::SK, "is neither a task nor a notification nor a thread nor a run")
            );
        }
    };
    let server = reader.text_maybe(attr::SERVER)?.map(|tag| ServerTag::stored(tag.to_owned()));
    Ok(Hint { key, server, due_at: reader.time(attr::DUE_AT)? })
}

/// Due time, pk and sk on a line each: no key holds a line break.
fn cursor(last: &Row) -> Result<String, StoreError> {
    let reader = Reader::unversioned(ITEM, last);
    let at = reader.time(attr::DUE_AT)?.as_millis();
    Ok(format!("{at}\n{}\n{}", reader.text(attr::PK)?, reader.text(attr::SK)?))
}

fn start_key(partition: &str, cursor: &str) -> Option<Row> {
    let mut lines = cursor.split('\n');
    let at: u64 = lines.next()?.parse().ok()?;
    let (pk, sk) = (lines.next()?, lines.next()?);
    if lines.next().is_some() {
        return None;
    }
    Key::parse(pk, sk)?;
    Some(Row::from([
        (attr::DUE_PK.to_owned(), AttributeValue::S(partition.to_owned())),
        (attr::DUE_AT.to_owned(), number(at)),
        (attr::PK.to_owned(), AttributeValue::S(pk.to_owned())),
        (attr::SK.to_owned(), AttributeValue::S(sk.to_owned())),
    ]))
}
