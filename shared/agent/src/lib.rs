//! The agent: what happens in one step of a run (agent reference 1).
//!
//! A step is pure as far as it goes: middlewares and tools look at a [`turn::Turn`] and write into it, and whoever runs the
//! step commits what was written, with what was told, in one transaction. Nothing here knows the table.

pub mod background;
pub mod chain;
pub mod clarification;
pub mod deferred;
pub mod durable_context;
#[cfg(test)]
mod fixture;
pub mod goal;
pub mod house;
pub mod memory;
pub mod middleware;
pub mod options;
pub mod own_tools;
pub mod prompt;
pub mod read_tool_result;
pub mod retry;
pub mod runner;
mod spoken;
pub mod subagents;
pub mod summarization;
pub mod title;
pub mod todos;
pub mod tool;
pub mod turn;
