//! Glue between the platform and the use cases: the one reader of the environment, the real clock and random numbers,
//! telemetry, the sealing key, parameters, blobs, the SDK's configuration, an invocation's event and deadline, how a function wakes
//! another.
//!
//! Used by every function and by the one-machine composition. It decides nothing about tasks.

pub mod aws;
pub mod blobs;
pub mod clock;
pub mod deadline;
pub mod env;
pub mod parameters;
pub mod random;
pub mod seal_keys;
pub mod settings;
pub mod telemetry;
pub mod tick;
pub mod wake_event;
pub mod waker;
