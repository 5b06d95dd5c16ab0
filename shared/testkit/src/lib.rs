//! Never deployed: fakes per port, fault injection, mutants, and the conformance suites that every adapter passes.
//!
//! Everything here is deterministic: ordered maps, seeded randomness, time from a paused runtime, and every port call
//! recorded in a [`Trace`], so that the same seed gives the same trace. The simulation's world is built of these pieces.

mod blobs;
pub mod clock;
pub mod conformance;
pub mod fixture;
pub mod fuzz;
pub mod gate;
mod keys;
mod lock;
pub mod matrix;
pub mod model;
pub mod models;
pub mod mutant;
pub mod random;
pub mod runs;
pub mod server;
pub mod sim;
pub mod table;
pub mod trace;
mod vault;
mod waker;

pub use blobs::FakeBlobs;
pub use clock::{ManualClock, VirtualClock};
pub use gate::{Fate, Gate, Gated, Script};
pub use keys::FixedKeys;
pub use models::{FakeModels, Speech};
pub use mutant::Mutant;
pub use random::SeededRandom;
pub use runs::FakeRuns;
pub use server::FakeServer;
pub use table::{FakeStore, FakeTable};
pub use trace::Trace;
pub use vault::FakeVault;
pub use waker::FakeWaker;

#[cfg(test)]
mod tests;
