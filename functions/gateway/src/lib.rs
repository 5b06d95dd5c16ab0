//! The public door: config, tools, tasks and events over HTTP (reference 8).
//!
//! It keeps nothing between requests that another instance would miss. Every answer but a stream is JSON; every error is
//! `{"detail": …}` with the status that `error.rs` gives it, and never a credential.

mod answer;
pub mod cloud;
mod error;
mod frames;
mod guard;
mod input;
mod mcp;
mod routes;
mod state;
mod streams;

pub use guard::{Access, Door, Origins};
pub use input::Patience;
pub use routes::{contract, router};
pub use state::Gateway;
pub use streams::Streams;
