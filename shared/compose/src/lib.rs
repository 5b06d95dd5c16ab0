//! The one place where adapters become the ports that use cases stand on.
//!
//! [`ports`] puts together what every process that calls servers has: the table behind every store, the MCP client and
//! the task drivers. A new port, driver or part of the MCP client is added there, and every composition has it: the
//! cloud's ([`cloud`]), one machine's, the bench's. What they differ in is a field of [`Base`].

mod base;
mod cloud;
mod models;
mod runner;

pub use base::{Base, ports};
pub use cloud::{AGENT, Cloud, ComposeError, TICK, cloud};
pub use models::models;
pub use pudu_mcp::{Egress, Launcher};
pub use runner::{parts, runner};
