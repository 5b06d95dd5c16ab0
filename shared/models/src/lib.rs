//! Clients of models.
//!
//! May touch the network and nothing else: no table, no clock of its own, no environment. A call is sent once and never
//! retried here; what an error says is redacted and bounded, and never holds the request.

mod anthropic;
mod bedrock;
mod clients;
mod dialect;
mod fault;
mod frames;
mod http;
mod openai;
mod redact;
mod repair;
mod scripted;

pub use clients::Clients;
pub use http::Http;
pub use scripted::LABEL;

#[cfg(test)]
mod tests;
