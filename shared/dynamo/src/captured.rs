//! What is logged, as the functions write it: one JSON object per line, fields beside the message.

use std::io;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;

/// The lines of this thread since the start, until it is dropped.
#[derive(Clone, Default)]
pub(crate) struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    /// Starts; the guard ends it.
    pub(crate) fn start() -> (Self, DefaultGuard) {
        let captured = Self::default();
        let layer = tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(captured.clone());
        let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
        (captured, guard)
    }

    /// The lines with that message.
    pub(crate) fn saying(&self, message: &str) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["message"] == message).collect()
    }
}

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Captured {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
