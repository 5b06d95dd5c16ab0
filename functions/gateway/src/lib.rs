//! The public door: config, tools, tasks and events over HTTP.
