//! Clients of models.
//!
//! May touch the network and nothing else: no table, no clock of its own, no environment. A call is sent once and never
//! retried here; what an error says is redacted and bounded, and never holds the request.

mod clients;
mod scripted;

pub use clients::Clients;
pub use scripted::LABEL;
