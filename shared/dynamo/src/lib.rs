//! The table: key schema, item codecs, and the stores behind the ports.
//!
//! [`Table`] implements every store port of `pudu-app` on one DynamoDB table (DESIGN section 3). What a row is called is
//! decided in [`key`], what stands in it in `item`, under which condition it is written in `condition`, and what a failed
//! write means in `retry` and `classify`; the stores only put these together. It decides nothing about tasks: it writes
//! exactly what `decide` returned, under exactly its `Expect`.

pub mod key;
pub mod schema;

mod allowances;
mod audit_log;
mod batch;
mod beacon;
mod body;
mod breakers;
mod capacity;
mod catalog_store;
mod classify;
mod condition;
mod config_store;
mod due_index;
mod durable_row;
mod event_log;
mod feedback_store;
mod item;
mod key_store;
mod memory_store;
mod note_store;
mod peer_store;
mod range;
mod retry;
mod row;
mod run_store;
mod spec_cache;
mod table;
mod task_store;
mod thread_store;
mod token_store;
mod wrapped_keys;

#[cfg(test)]
mod captured;
#[cfg(test)]
mod scripted;
#[cfg(test)]
mod strategies;
mod write;

pub use capacity::CapacityObserver;
pub use key::Key;
pub use retry::Retries;
pub use table::Table;
