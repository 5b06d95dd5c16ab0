//! The one integration-test binary: tidy checks, conformance, the contract, costs, HTTP, the sealing key, the whole story, foreign servers,
//! the functions.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "everything here is a test or serves one: what does not hold ends it"
)]

mod administration;
mod agents;
mod audit;
mod blobs;
mod callers;
mod canary;
mod catalog;
mod changes;
mod cloud;
mod config_file;
mod conformance;
mod contract;
mod corpora;
mod deletion;
mod follow;
mod hardening;
mod http;
mod kms;
mod lambda;
mod mcp;
mod memory;
mod parameters;
mod peers;
mod poller;
mod providers;
mod rates;
mod runs;
mod simulation;
mod stdio;
mod story;
mod submit;
mod tidy;
mod units;
mod variables;
mod wake;
