//! Ids, the lease, and the state machines of tasks and notifications: pure, without I/O or a clock.
