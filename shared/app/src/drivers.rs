//! The drivers that this process has, by the name under which tasks remember them.

use std::sync::Arc;

use crate::ports::TaskDriver;

/// The name of the driver of ordinary toolsets (reference 6.1).
pub const ORDINARY_TOOLS: &str = "ordinary-tools";

/// The name of the driver of the tasks extension of 2026-07-28 (`io.modelcontextprotocol/tasks`).
pub const MCP_TASKS: &str = "mcp-tasks";

/// The name of the driver of the core tasks of 2025-11-25.
pub const CORE_TASKS: &str = "core-tasks";

/// A few drivers.
#[derive(Clone, Default)]
pub struct Drivers(Vec<Arc<dyn TaskDriver>>);

impl Drivers {
    /// These drivers; of two with one name the first is used.
    pub fn new(drivers: Vec<Arc<dyn TaskDriver>>) -> Self {
        Self(drivers)
    }

    /// The driver of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn TaskDriver>> {
        self.0.iter().find(|driver| driver.name() == name)
    }
}
