//! The client of other people's MCP servers, and the drivers that speak about tasks with them.
//!
//! May touch the network, child processes and their folders, and nothing else: no table, no clock of its own, no
//! environment. Results travel as raw JSON, because the SDK's typed model drops what it does not know. Every error text
//! goes through one redaction ([`Redactor`]) and is bounded; a call is sent at most once; nothing here waits longer than
//! its caller allows.

mod client;
mod core_tasks;
mod credentials;
mod egress;
mod extension;
mod interceptor;
mod oidc;
mod ordinary;
pub mod paths;
mod pipe;
mod redact;
mod session;
mod signed;
mod sse;
mod stateless;
mod stdio;
mod target;
mod told;
mod wire;

pub use client::{BuildError, Client, http_client};
pub use core_tasks::CoreTasks;
pub use egress::{Class, Egress, EgressError, Refusal};
pub use extension::McpTasks;
pub use interceptor::{FactoryError, Interceptor, Interceptors, Next, Request, TraceContext};
pub use oidc::Oidc;
pub use ordinary::OrdinaryTools;
pub use redact::{MAX_ERROR_CHARS, Redactor, Redacts};
pub use stdio::{INHERITED, Launcher};
pub use wire::{Event, read_events};

#[cfg(test)]
mod tests;
