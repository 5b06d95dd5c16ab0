//! The background half: what runs when something is due.

mod call;
mod deletion;
mod drain;
mod notifier;
mod pass;
mod poller;
mod queue;
mod shift;
mod watch;

pub use call::Call;
pub use deletion::Deletion;
pub use drain::{Drain, Failures, Ran, Report, Work};
pub use notifier::Notifier;
pub use poller::Poller;
