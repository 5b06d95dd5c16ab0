//! What happened, in order: the evidence that the same seed gives the same run, and what a failing seed prints.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};

use crate::lock::lock;

/// Most bytes of one kept line; the hash covers all of it.
const LINE_BYTES: usize = 240;

/// A record of every port call. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Trace(Arc<Mutex<Record>>);

#[derive(Debug, Default)]
struct Record {
    hash: Fnv,
    lines: Option<Vec<String>>,
}

impl Trace {
    /// A trace that keeps only its hash.
    pub fn hashed() -> Self {
        Self::default()
    }

    /// A trace that also keeps every line, for printing a failed run.
    pub fn kept() -> Self {
        Self(Arc::new(Mutex::new(Record { hash: Fnv::default(), lines: Some(Vec::new()) })))
    }

    /// Adds a line.
    pub fn record(&self, line: fmt::Arguments<'_>) {
        let record = &mut *lock(&self.0);
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

    /// The hash of everything recorded so far.
    pub fn hash(&self) -> u64 {
        lock(&self.0).hash.0
    }

    /// The kept lines.
    pub fn lines(&self) -> Vec<String> {
        lock(&self.0).lines.clone().unwrap_or_default()
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
