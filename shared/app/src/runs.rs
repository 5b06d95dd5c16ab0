//! Runs of agents, and the conversations that they belong to, as their callers see them.

pub mod checkpoints;
