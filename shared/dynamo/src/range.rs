//! Rows of one partition between two sort keys, a page at a time.

use aws_sdk_dynamodb::types::AttributeValue;
use pudu_app::ports::StoreError;

use crate::condition::Expression;
use crate::row::{Row, attr};
use crate::table::Table;

/// Most rows of one page: a page has at most a megabyte whatever is asked for, and few callers read more than this.
const PAGE: usize = 100;

/// A query in the making, and how far it has come. Strongly consistent; rows whose time is over are left out.
pub(crate) struct Range {
    pub(crate) operation: &'static str,
    pub(crate) pk: String,
    /// The least sort key, itself included.
    pub(crate) first: String,
    /// The greatest, itself included; nothing is asked for when it is less than the least.
    pub(crate) last: String,
    pub(crate) newest_first: bool,
    start: Option<Row>,
    is_over: bool,
}

impl Range {
    pub(crate) const fn new(operation: &'static str, pk: String, first: String, last: String) -> Self {
        Self { operation, pk, first, last, newest_first: false, start: None, is_over: false }
    }

    /// The same from the greatest sort key downwards.
    pub(crate) fn newest_first(self) -> Self {
        Self { newest_first: true, ..self }
    }

    /// The next page, of at most about `wanted` rows; none after the last one.
    pub(crate) async fn page(
        &mut self,
        table: &Table,
        wanted: usize,
    ) -> Result<Option<Vec<Row>>, StoreError> {
        if self.is_over || self.last < self.first {
            return Ok(None);
        }
        let condition = Expression::new("#pk = :pk AND #sk BETWEEN :first AND :last")
            .names(&[attr::PK, attr::SK])
            .value(":pk", AttributeValue::S(self.pk.clone()))
            .value(":first", AttributeValue::S(self.first.clone()))
            .value(":last", AttributeValue::S(self.last.clone()));
        let limit = i32::try_from(wanted.clamp(1, PAGE)).unwrap_or(i32::MAX);
        let (start, forward) = (self.start.take(), !self.newest_first);
        let output = table
            .query(self.operation, condition, |query| {
                query
                    .scan_index_forward(forward)
                    .consistent_read(true)
                    .limit(limit)
                    .set_exclusive_start_key(start)
            })
            .await?;
        self.start = output.last_evaluated_key;
        self.is_over = self.start.is_none();
        Ok(Some(output.items.unwrap_or_default()))
    }
}
