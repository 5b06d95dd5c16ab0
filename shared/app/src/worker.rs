//! The background half: what runs when something is due.

mod deletion;
mod drain;
mod notifier;
mod poller;
mod queue;

pub use deletion::Deletion;
pub use drain::{Drain, Failures, Ran, Report, Work};
pub use notifier::Notifier;
pub use poller::Poller;
