//! Delegation (agent reference 3): a call of `task` begins a child, a run of its own, and its parent waits for it at no cost.
//!
//! Nothing is begun here: [`begin`] says from the open calls which children there are to be, and they begin in the very commit
//! that parks their parent, which also counts them; [`result`] says from a child's end what its call brought. A child's id
//! follows from its call, so that a repeated step begins nobody twice.

mod begin;
mod contract;
mod limit;
mod prompts;
mod result;
mod steps;
mod tool;
mod types;

#[cfg(test)]
mod tests;

pub use begin::{Begun, GRACE, begin, is_begun};
pub use limit::SubagentLimit;
pub use result::{Ended, result};
pub use steps::steps;
pub use tool::definition;
pub use types::{Type, Types};

/// The tool that delegates.
pub const TASK: &str = "task";
/// Tools that no subagent has, unless its type says otherwise: delegating, asking the user, showing him files.
pub const WITHHELD: [&str; 3] = [TASK, crate::clarification::ASK_CLARIFICATION, "present_files"];
