//! Everything that this process logs, kept to be searched.

use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

static LOGS: OnceLock<Logs> = OnceLock::new();

/// The log of the whole process. Tests share it, so each searches for what only it can have caused.
#[derive(Clone, Default)]
pub struct Logs(Arc<Mutex<Vec<u8>>>);

impl Logs {
    /// Starts capturing, once per process: our own crates at their most talkative, others as in production.
    pub fn capture() -> Self {
        let start = || {
            let logs = Self::default();
            let filter = Targets::new().with_default(Level::WARN).with_target("pudu", Level::TRACE);
            let layer = tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(logs.clone());
            tracing_subscriber::registry().with(filter).with(layer).init();
            logs
        };
        LOGS.get_or_init(start).clone()
    }

    /// What was logged until now.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl io::Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Logs {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
