//! Counts the calls of every process of a run, and lets mishaps happen at the numbers that it was given.

use std::sync::{Arc, Mutex};

use crate::gate::{Call, Fate, Script};
use crate::lock::lock;

/// The calls of a run, across its processes. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Points(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    ops: Vec<&'static str>,
    mishaps: Vec<(usize, Fate)>,
}

impl Points {
    pub(super) fn with(mishaps: &[(usize, Fate)]) -> Self {
        Self(Arc::new(Mutex::new(State { ops: Vec::new(), mishaps: mishaps.to_vec() })))
    }

    /// Every call so far.
    pub(super) fn ops(&self) -> Vec<&'static str> {
        lock(&self.0).ops.clone()
    }

    /// The script of one process.
    pub(super) fn script(&self) -> impl Script + 'static {
        let points = self.clone();
        move |call: Call<'_>| {
            let mut state = lock(&points.0);
            let number = state.ops.len();
            state.ops.push(call.op);
            state.mishaps.iter().find(|(at, _)| *at == number).map_or(Fate::Pass, |(_, fate)| *fate)
        }
    }
}
