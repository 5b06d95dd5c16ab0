//! What must hold for any input: one plain function per target, which panics where it does not.
//!
//! `fuzz/` feeds them with what libFuzzer finds (`.ci/run --nightly`), and a plain test replays the kept inputs on stable
//! (`tests/it/corpora.rs`). A target asserts properties, not only that nothing crashes: a rule said a second time and in
//! another way, a round trip, or that two ways to one answer agree. What is an adapter's comes in as a parameter, because
//! nothing here knows one.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a target panics where its property does not hold: that is its only answer"
)]

mod config;
mod frames;
mod headers;
mod names;
mod paths;
mod variables;

pub use config::config;
pub use frames::{Read, frames};
pub use headers::headers;
pub use names::names;
pub use paths::paths;
pub use variables::variables;
