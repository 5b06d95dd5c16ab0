//! What must hold for any input: one plain function per target, which panics where it does not.
//!
//! `fuzz/` feeds them with what libFuzzer finds (`.ci/run --nightly`), and a plain test replays the kept inputs on stable
//! (`tests/it/corpora.rs`). A target asserts properties, not only that nothing crashes: a rule said a second time and in
//! another way, a round trip, or that two ways to one answer agree.
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
mod variables;

pub use config::config;
pub use frames::frames;
pub use headers::headers;
pub use names::names;
pub use variables::variables;
