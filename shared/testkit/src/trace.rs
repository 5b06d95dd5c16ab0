//! What happened, in order: the evidence that the same seed gives the same run, and what a failing seed prints.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};

use crate::lock::lock;

/// Most bytes of one kept line; the hash covers all of it.
const LINE_BYTES: usize = 240;

/// A record of every port call. Clones share it.
#[derive(Debug, Clone)]
pub struct Trace(Option<Arc<Mutex<Record>>>);

#[derive(Debug, Default)]
struct Record {
    hash: Fnv,
    lines: Option<Vec<String>>,
}

impl Trace {
    /// A trace of nothing, for runs of which only the outcome is looked at: formatting is most of what a call costs here.
    pub const fn off() -> Self {
        Self(None)
    }

    /// A trace that keeps only its hash.
    pub fn hashed() -> Self {
        Self(Some(Arc::default()))
    }

    /// A trace that also keeps every line, for printing a failed run.
    pub fn kept() -> Self {
        Self(Some(Arc::new(Mutex::new(Record { hash: Fnv::default(), lines: Some(Vec::new()) }))))
    }

    /// Adds a line.
    pub fn record(&self, line: fmt::Arguments<'_>) {
        let Some(record) = &self.0 else { return };
        let record = &mut *lock(record);
        // Writing to a hash cannot fail, and a `Debug` that fails would fail in every run alike.
        let _ = record.hash.write_fmt(line);
        let _ = record.hash.write_char('\n');
        if let Some(lines) = &mut record.lines {
            let mut text = line.to_string();
            let end = (0..=LINE_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
            text.truncate(end.unwrap_or(0));
            lines.push(text);
        }
    }

    /// The hash of everything recorded so far; 0 for a trace of nothing.
    pub fn hash(&self) -> u64 {
        self.0.as_ref().map_or(0, |record| lock(record).hash.0)
    }

    /// The kept lines.
    pub fn lines(&self) -> Vec<String> {
        self.0.as_ref().and_then(|record| lock(record).lines.clone()).unwrap_or_default()
    }
}

/// FNV-1a, 64 bits: the standard library's hasher may change between versions.
#[derive(Debug)]
pub(crate) struct Fnv(pub(crate) u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(())
    }
}
