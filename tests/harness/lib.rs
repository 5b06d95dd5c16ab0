//! What the acceptance tests are told in: a clock moved by hand, a table whose calls and costs are seen, the whole house
//! with its example server, foreign servers, and the functions' own binaries under a Runtime API.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "everything here serves tests: what does not hold ends them"
)]

pub mod agents;
mod answer;
pub mod audit;
mod binaries;
mod bucket;
mod clock;
mod console;
pub mod dynamo_backend;
mod example;
mod first_key;
mod fleet;
mod function;
mod invocations;
mod logs;
mod parameters;
mod peer;
mod platform;
pub mod ports;
mod process;
mod rows;
mod runtime_api;
mod silent;
mod speaker;
mod table;
mod talk;
mod toll;
mod town;
pub mod world;

pub use answer::{Answer, request, send};
pub use binaries::machine;
pub use bucket::ObjectStore;
pub use clock::HandClock;
pub use console::skipped;
pub use example::ExampleServer;
pub use first_key::{first_key, operator};
pub use fleet::{Fleet, StatusCall};
pub use function::{Function, Start};
pub use invocations::Invocations;
pub use logs::{CANARY, Logs, leaks};
pub use parameters::ParameterStore;
pub use peer::Peer;
pub use platform::{Offer, Platform};
pub use process::Pudu;
pub use rows::Rows;
pub use silent::Silent;
pub use speaker::{Speaker, Speech};
pub use table::{Calls, Cost, Costs, MeteredTable, second_engine, unique_table};
pub use talk::{Listener, Talk};
pub use toll::Toll;
pub use town::Town;
pub use world::World;
