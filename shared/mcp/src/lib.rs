//! The MCP client: connections, raw calls, and the task drivers.
