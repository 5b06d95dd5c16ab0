//! The whole system on one machine, with an embedded DynamoDB-compatible engine (DESIGN section 8).
//!
//! This is a composition: it decides nothing about tasks. The gateway, the poller and the notifier are the libraries
//! of the functions, the stores are those of the cloud; what is added is where they run and where the table is.

mod admin_key;
pub mod blobs;
pub mod cli;
pub mod commands;
pub mod config_file;
pub mod demo;
pub mod engine;
pub mod example;
pub mod folder;
pub mod front;
pub mod house;
pub mod machine;
pub mod mailbox;
mod operator;
pub mod run;
mod say;
mod secrets;
pub mod seed;
pub mod store;
pub mod workers;
