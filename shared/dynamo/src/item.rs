//! What stands in the rows: one module per stored item, each with `encode`, `decode` and a round-trip property test.

pub(crate) mod answer;
pub(crate) mod api_key;
pub(crate) mod audit;
pub(crate) mod beacon;
pub(crate) mod breaker;
pub(crate) mod bucket;
pub(crate) mod catalogue;
pub(crate) mod checkpoint;
pub(crate) mod conversation;
pub(crate) mod durable;
pub(crate) mod event;
pub(crate) mod feedback;
pub(crate) mod handle;
pub(crate) mod idempotency;
pub(crate) mod memory;
pub(crate) mod news;
pub(crate) mod note;
pub(crate) mod parts;
pub(crate) mod payload;
pub(crate) mod peer;
pub(crate) mod revision;
pub(crate) mod run;
pub(crate) mod run_keyed;
pub(crate) mod run_spec;
pub(crate) mod secret;
pub(crate) mod spec;
pub(crate) mod task;
pub(crate) mod telling;
pub(crate) mod thread;
pub(crate) mod token;
pub(crate) mod wrapped_key;

#[cfg(test)]
mod tests;
