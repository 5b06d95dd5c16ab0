//! One table and the requests that the stores make of it: read a row, query, write.

use std::fmt;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::operation::query::QueryOutput;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::ReturnValue;
use pudu_app::ports::{Clock, Random, StoreError};
use pudu_domain::Timestamp;

use crate::capacity::{CapacityObserver, Meter};
use crate::classify::{BoxError, Fault, fault, write_fault};
use crate::condition::Expression;
use crate::item::parts::{self, Content, Head};
use crate::key::Key;
use crate::retry::{Answer, Retries};
use crate::row::{Reader, Row, is_over, key_of};
use crate::spec_cache::SpecCache;
use crate::write::{Update, When, Write, old_image};

/// The table, behind every store port. Clones share the client and the cache.
#[derive(Clone)]
pub struct Table {
    pub(crate) client: Client,
    pub(crate) name: Arc<str>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) specs: Arc<SpecCache>,
    retries: Retries,
    pub(crate) meter: Meter,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.name)
            .field("retries", &self.retries)
            .finish_non_exhaustive()
    }
}

impl Table {
    /// The table `name`, reached through `client`, whose own retries are turned off here so that no composition can
    /// forget it. Time-outs of a single attempt are the client's; set them.
    pub fn new(client: &Client, name: &str, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        let config = client.config().to_builder().retry_config(RetryConfig::disabled()).build();
        Self {
            client: Client::from_conf(config),
            name: name.into(),
            clock,
            random,
            specs: Arc::default(),
            retries: Retries::default(),
            meter: Meter::default(),
        }
    }

    /// The same table with other retries.
    #[must_use]
    pub fn with_retries(self, retries: Retries) -> Self {
        Self { retries, ..self }
    }

    /// The same table, telling `observer` what each request cost.
    #[must_use]
    pub fn with_capacity(self, observer: CapacityObserver) -> Self {
        Self { meter: Meter(Some(observer)), ..self }
    }

    /// The row at `key`; none if its time is over.
    pub(crate) async fn get(
        &self,
        operation: &'static str,
        key: &Key,
        consistent: bool,
    ) -> Result<Option<Row>, StoreError> {
        let request = self
            .client
            .get_item()
            .table_name(&*self.name)
            .set_key(Some(key_of(key)))
            .consistent_read(consistent)
            .set_return_consumed_capacity(self.meter.wanted());
        let answer = self.run(operation, |_| {
            let request = request.clone();
            async move { request.send().await.map_err(fault) }
        });
        let output = read(operation, answer.await?)?;
        self.meter.read(operation, output.consumed_capacity());
        Ok(output.item.filter(|row| !is_over(row, self.now())))
    }

    /// The content of an item that may be in parts, whose rows are at `key`. One that is missing makes the content's digest
    /// wrong, and the item corrupt.
    pub(crate) async fn content(
        &self,
        operation: &'static str,
        item: &'static str,
        head: Head,
        key: impl Fn(&str, u16) -> Key,
    ) -> Result<Vec<u8>, StoreError> {
        let count = match head.content {
            Content::Inline(packed) => return Ok(packed),
            Content::Parts(count) => count,
        };
        let mut packed = Vec::new();
        for part in 0..count {
            if let Some(row) = self.get(operation, &key(&head.digest, part), true).await? {
                packed.extend_from_slice(parts::bytes(Reader::new(item, &row)?)?);
            }
        }
        Ok(packed)
    }

    /// The time now.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// One page of a query, without the rows whose time is over.
    pub(crate) async fn query(
        &self,
        operation: &'static str,
        condition: Expression,
        shape: impl FnOnce(QueryFluentBuilder) -> QueryFluentBuilder,
    ) -> Result<QueryOutput, StoreError> {
        let mut output = self.query_all(operation, condition, shape).await?;
        if let Some(rows) = &mut output.items {
            let now = self.now();
            rows.retain(|row| !is_over(row, now));
        }
        Ok(output)
    }

    /// One page of a query, with every row that is there.
    pub(crate) async fn query_all(
        &self,
        operation: &'static str,
        condition: Expression,
        shape: impl FnOnce(QueryFluentBuilder) -> QueryFluentBuilder,
    ) -> Result<QueryOutput, StoreError> {
        let request = self
            .client
            .query()
            .table_name(&*self.name)
            .set_expression_attribute_names(condition.name_map())
            .set_expression_attribute_values(condition.value_map())
            .key_condition_expression(condition.text)
            .set_return_consumed_capacity(self.meter.wanted());
        let request = shape(request);
        let answer = self.run(operation, |_| {
            let request = request.clone();
            async move { request.send().await.map_err(fault) }
        });
        let output = read(operation, answer.await?)?;
        self.meter.read(operation, output.consumed_capacity());
        Ok(output)
    }

    /// Carries out `writes` whole or not at all: one put or delete alone as it is, else as a transaction.
    pub(crate) async fn write(
        &self,
        operation: &'static str,
        writes: &[Write],
    ) -> Result<Answer<()>, StoreError> {
        for write in writes {
            write.check().map_err(|error| error.refused(operation))?;
        }
        match writes {
            [Write::Put { row, when, .. }] => {
                self.run(operation, |now| async move {
                    let condition = when.at(now);
                    let output = self
                        .client
                        .put_item()
                        .table_name(&*self.name)
                        .set_item(Some(row.clone()))
                        .set_expression_attribute_names(condition.as_ref().and_then(Expression::name_map))
                        .set_expression_attribute_values(condition.as_ref().and_then(Expression::value_map))
                        .set_return_values_on_condition_check_failure(condition.as_ref().map(|_| old_image()))
                        .set_condition_expression(condition.map(|condition| condition.text))
                        .set_return_consumed_capacity(self.meter.wanted())
                        .send()
                        .await
                        .map_err(write_fault)?;
                    self.meter.wrote(operation, output.consumed_capacity.as_slice());
                    Ok(())
                })
                .await
            }
            [Write::Delete(key)] => self.remove(operation, &key_of(key), &When::Always).await,
            _ => self.transact(operation, writes).await,
        }
    }

    /// Removes the row at `key`, two attributes, under a condition. Any row: what is removed need not read.
    pub(crate) async fn remove(
        &self,
        operation: &'static str,
        key: &Row,
        when: &When,
    ) -> Result<Answer<()>, StoreError> {
        self.run(operation, |now| async move {
            let condition = when.at(now);
            let output = self
                .client
                .delete_item()
                .table_name(&*self.name)
                .set_key(Some(key.clone()))
                .set_expression_attribute_names(condition.as_ref().and_then(Expression::name_map))
                .set_expression_attribute_values(condition.as_ref().and_then(Expression::value_map))
                .set_return_values_on_condition_check_failure(condition.as_ref().map(|_| old_image()))
                .set_condition_expression(condition.map(|condition| condition.text))
                .set_return_consumed_capacity(self.meter.wanted())
                .send()
                .await
                .map_err(write_fault)?;
            self.meter.wrote(operation, output.consumed_capacity.as_slice());
            Ok(())
        })
        .await
    }

    /// A transaction. Each attempt has a token of its own, which the SDK makes: one that stayed the same would be refused
    /// as soon as a later attempt asks at another time (`:now` is part of the request), one from a seeded [`Random`] as
    /// soon as two tables share a seed; and judging by the old image is right without any.
    async fn transact(&self, operation: &'static str, writes: &[Write]) -> Result<Answer<()>, StoreError> {
        self.run(operation, |now| async move {
            let elements: Result<Vec<_>, _> =
                writes.iter().map(|write| write.element(&self.name, now)).collect();
            let output = self
                .client
                .transact_write_items()
                .set_transact_items(Some(elements?))
                .set_return_consumed_capacity(self.meter.wanted())
                .send()
                .await
                .map_err(write_fault)?;
            self.meter.wrote(operation, output.consumed_capacity());
            Ok(())
        })
        .await
    }

    /// Carries out `update` and returns the row as it is then. [`Fault::Unfit`] reaches the caller as an answer.
    pub(crate) async fn update(
        &self,
        operation: &'static str,
        update: &Update,
    ) -> Result<Answer<Updated>, StoreError> {
        self.run(operation, |now| async move {
            let parts = update.parts(now);
            let sent = self
                .client
                .update_item()
                .table_name(&*self.name)
                .set_key(Some(parts.key))
                .update_expression(parts.set)
                .set_condition_expression(parts.condition)
                .set_expression_attribute_names(parts.names)
                .set_expression_attribute_values(parts.values)
                .return_values(ReturnValue::AllNew)
                .return_values_on_condition_check_failure(old_image())
                .set_return_consumed_capacity(self.meter.wanted())
                .send()
                .await;
            match sent.map_err(write_fault) {
                Ok(output) => {
                    self.meter.wrote(operation, output.consumed_capacity.as_slice());
                    Ok(Updated::Row(output.attributes.unwrap_or_default()))
                }
                Err(Fault::Unfit(source)) => Ok(Updated::Unfit(source)),
                Err(other) => Err(other),
            }
        })
        .await
    }

    pub(crate) async fn run<T, F>(
        &self,
        operation: &'static str,
        attempt: impl FnMut(Timestamp) -> F + Send,
    ) -> Result<Answer<T>, StoreError>
    where
        T: Send,
        F: Future<Output = Result<T, Fault>> + Send,
    {
        self.retries.run(operation, &*self.clock, &*self.random, attempt).await
    }
}

/// What an update came to.
#[derive(Debug)]
pub(crate) enum Updated {
    /// The row after it.
    Row(Row),
    /// The stored row does not have the attributes that the expression works on.
    Unfit(BoxError),
}

/// A read has no condition that could fail.
pub(crate) fn read<T>(operation: &'static str, answer: Answer<T>) -> Result<T, StoreError> {
    match answer {
        Answer::Done(value) => Ok(value),
        Answer::Failed(_) => Err(StoreError::Refused { operation, source: "a read met a condition".into() }),
    }
}
