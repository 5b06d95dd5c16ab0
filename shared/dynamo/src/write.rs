//! Writes as values: what is written under which condition is put together first, then carried out as one `PutItem` or one
//! `TransactWriteItems`.

use std::collections::HashMap;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{
    AttributeValue, Delete, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update as SdkUpdate,
};
use pudu_domain::Timestamp;

use crate::body::EncodeError;
use crate::condition::Expression;
pub(crate) use crate::condition::When;
use crate::key::Key;
use crate::row::{MAX_ROW_BYTES, Row, key_of, size};

/// One element of a write.
#[derive(Debug, Clone)]
pub(crate) enum Write {
    /// The whole row.
    Put {
        /// What kind of row, for messages.
        item: &'static str,
        /// The row.
        row: Row,
        /// Its condition.
        when: When,
    },
    /// The row goes, if there is one.
    Delete(Key),
    /// The row goes, if its condition holds.
    Remove {
        /// Which row.
        key: Key,
        /// Its condition.
        when: When,
    },
    /// Some attributes of a row.
    Update(Update),
}

/// A partial write.
#[derive(Debug, Clone)]
pub(crate) struct Update {
    /// Which row.
    pub(crate) key: Key,
    /// The update expression.
    pub(crate) set: &'static str,
    /// The attributes that it names as `#attribute`.
    pub(crate) names: Vec<&'static str>,
    /// Its values; disjoint from those of the condition.
    pub(crate) values: Vec<(&'static str, AttributeValue)>,
    /// Its condition.
    pub(crate) when: When,
}

/// An update with its condition, as the SDK takes it.
pub(crate) struct UpdateParts {
    pub(crate) key: Row,
    pub(crate) set: String,
    pub(crate) condition: Option<String>,
    pub(crate) names: Option<HashMap<String, String>>,
    pub(crate) values: Option<HashMap<String, AttributeValue>>,
}

impl Write {
    pub(crate) fn put(item: &'static str, row: Row, when: When) -> Self {
        Self::Put { item, row, when }
    }

    /// Refuses a row that is too large, with words that say which; the table's own error does not.
    pub(crate) fn check(&self) -> Result<(), EncodeError> {
        match self {
            Self::Put { item, row, .. } if size(row) > MAX_ROW_BYTES => {
                Err(EncodeError::TooLarge { item, bytes: size(row), limit: MAX_ROW_BYTES })
            }
            _ => Ok(()),
        }
    }

    /// The element of a transaction, conditions as of `now`.
    pub(crate) fn element(&self, table: &str, now: Timestamp) -> Result<TransactWriteItem, BuildError> {
        let item = TransactWriteItem::builder();
        Ok(match self {
            Self::Put { row, when, .. } => {
                let condition = when.at(now);
                let put = Put::builder()
                    .table_name(table)
                    .set_item(Some(row.clone()))
                    .set_expression_attribute_names(condition.as_ref().and_then(Expression::name_map))
                    .set_expression_attribute_values(condition.as_ref().and_then(Expression::value_map))
                    .set_return_values_on_condition_check_failure(condition.as_ref().map(|_| old_image()))
                    .set_condition_expression(condition.map(|condition| condition.text));
                item.put(put.build()?)
            }
            Self::Delete(key) => {
                item.delete(Delete::builder().table_name(table).set_key(Some(key_of(key))).build()?)
            }
            Self::Remove { key, when } => {
                let condition = when.at(now);
                let delete = Delete::builder()
                    .table_name(table)
                    .set_key(Some(key_of(key)))
                    .set_expression_attribute_names(condition.as_ref().and_then(Expression::name_map))
                    .set_expression_attribute_values(condition.as_ref().and_then(Expression::value_map))
                    .set_return_values_on_condition_check_failure(condition.as_ref().map(|_| old_image()))
                    .set_condition_expression(condition.map(|condition| condition.text));
                item.delete(delete.build()?)
            }
            Self::Update(update) => {
                let parts = update.parts(now);
                let update = SdkUpdate::builder()
                    .table_name(table)
                    .set_key(Some(parts.key))
                    .update_expression(parts.set)
                    .set_expression_attribute_names(parts.names)
                    .set_expression_attribute_values(parts.values)
                    .set_return_values_on_condition_check_failure(
                        parts.condition.as_ref().map(|_| old_image()),
                    )
                    .set_condition_expression(parts.condition);
                item.update(update.build()?)
            }
        }
        .build())
    }
}

impl Update {
    pub(crate) fn parts(&self, now: Timestamp) -> UpdateParts {
        let update = self
            .values
            .iter()
            .fold(Expression::new(self.set).names(&self.names), |expression, (placeholder, value)| {
                expression.value(placeholder, value.clone())
            });
        let condition = self.when.at(now);
        let all = match &condition {
            Some(condition) => update.with(condition),
            None => update,
        };
        UpdateParts {
            key: key_of(&self.key),
            set: self.set.to_owned(),
            names: all.name_map(),
            values: all.value_map(),
            condition: condition.map(|condition| condition.text),
        }
    }
}

/// Every condition asks for the row that failed it: without it a lost answer could not be judged.
pub(crate) const fn old_image() -> ReturnValuesOnConditionCheckFailure {
    ReturnValuesOnConditionCheckFailure::AllOld
}
