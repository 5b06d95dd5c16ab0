//! Logging: one JSON object per line to standard error, dotted field names (CONTRIBUTING.md has the guide).

use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// How lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For machines.
    Json,
    /// For a person at a terminal.
    Text,
}

/// Starts logging for this process; a second call changes nothing.
pub fn init(level: Level, format: Format) {
    // The SDKs log bodies and headers at debug: only their warnings pass, whatever our own level is.
    // The SDKs report everyday failures of a peer as errors; what matters of them is in our own errors.
    let filter = Targets::new()
        .with_default(Level::WARN)
        .with_target("rmcp", LevelFilter::OFF)
        .with_target("aws_smithy_runtime", LevelFilter::OFF)
        .with_target("pudu", level);
    let registry = tracing_subscriber::registry().with(filter);
    let stderr = std::io::stderr;
    let started = match format {
        Format::Json => registry
            .with(tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(stderr))
            .try_init(),
        Format::Text => {
            registry.with(tracing_subscriber::fmt::layer().with_target(false).with_writer(stderr)).try_init()
        }
    };
    if started.is_err() {
        tracing::debug!("logging had been started before");
    }
}
