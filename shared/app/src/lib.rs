//! Ports and use cases: what the system does.
