//! What the system does: the ports to everything outside, and the use cases on top of them.
//!
//! The only crate that says what happens in which order. It knows no wire format, no table and no SDK; whoever runs it
//! (a function, one machine, a simulation) hands it adapters for [`ports`].

pub mod audit;
pub mod callers;
pub mod catalog;
pub mod chain;
pub mod changes;
pub mod configs;
pub mod dead_letters;
pub mod deadline;
pub mod deferral;
pub mod depth;
pub mod drivers;
pub mod framing;
pub mod function;
pub mod hints;
pub mod keys;
pub mod known;
pub mod limits;
pub mod listings;
pub mod memories;
pub mod models;
pub mod moments;
pub mod oidc;
pub mod ports;
pub mod rates;
pub mod run_secrets;
pub mod runs;
mod schema;
pub mod settle;
pub mod tasks;
pub mod threads;
pub mod tools;
pub mod wakeups;
pub mod wiring;
pub mod worker;
