//! What each request cost, for the bench and the tests that assert it. Production gives no observer, and then the table
//! is not even asked.

use std::sync::Arc;

use aws_sdk_dynamodb::types::{ConsumedCapacity, ReturnConsumedCapacity};

/// Is told the port operation, its write units and its read units, once per answered request.
///
/// A write whose condition failed is billed but not reported: its error does not say what it cost.
pub type CapacityObserver = Arc<dyn Fn(&'static str, f64, f64) + Send + Sync>;

/// The observer, if any.
#[derive(Clone, Default)]
pub(crate) struct Meter(pub(crate) Option<CapacityObserver>);

impl Meter {
    /// What to ask the table for.
    pub(crate) fn wanted(&self) -> Option<ReturnConsumedCapacity> {
        self.0.is_some().then_some(ReturnConsumedCapacity::Indexes)
    }

    pub(crate) fn wrote(&self, operation: &'static str, answered: &[ConsumedCapacity]) {
        self.report(operation, answered, |units| (units, 0.0));
    }

    pub(crate) fn read<'a>(
        &self,
        operation: &'static str,
        answered: impl IntoIterator<Item = &'a ConsumedCapacity>,
    ) {
        self.report(operation, answered, |units| (0.0, units));
    }

    fn report<'a>(
        &self,
        operation: &'static str,
        answered: impl IntoIterator<Item = &'a ConsumedCapacity>,
        split: impl Fn(f64) -> (f64, f64),
    ) {
        if let Some(observer) = &self.0 {
            let units = answered.into_iter().filter_map(ConsumedCapacity::capacity_units).sum();
            let (write, read) = split(units);
            observer(operation, write, read);
        }
    }
}
