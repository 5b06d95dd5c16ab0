//! The whole system on one machine, with an embedded DynamoDB-compatible engine.

pub mod engine;
pub mod example;
