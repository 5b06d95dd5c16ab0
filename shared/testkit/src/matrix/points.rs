//! Counts the calls of every process of a run, and lets mishaps happen at the numbers that it was given.

use std::sync::{Arc, Mutex};

use pudu_app::tools::Terms;

use super::Mishap;
use crate::gate::{Call, Fate, Script};
use crate::lock::lock;

/// The calls of a run, across its processes. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Points(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    ops: Vec<&'static str>,
    mishaps: Vec<(usize, Mishap)>,
    terms: Terms,
}

impl Points {
    /// Of a run with these mishaps at the calls of these numbers, counted from 0.
    pub fn with(mishaps: &[(usize, Mishap)]) -> Self {
        Self(Arc::new(Mutex::new(State { mishaps: mishaps.to_vec(), ..State::default() })))
    }

    /// The terms of a caller without a key, who hangs up when it is time.
    pub(super) fn terms(&self) -> Terms {
        lock(&self.0).terms.clone()
    }

    /// Every call so far.
    pub fn ops(&self) -> Vec<&'static str> {
        lock(&self.0).ops.clone()
    }

    /// The script of one process.
    pub fn script(&self) -> impl Script + 'static {
        let points = self.clone();
        move |call: Call<'_>| {
            let mut state = lock(&points.0);
            let number = state.ops.len();
            state.ops.push(call.op);
            match state.mishaps.iter().find(|(at, _)| *at == number) {
                Some((_, Mishap::Call(fate))) => *fate,
                Some((_, Mishap::HangUp)) => {
                    state.terms.gone.cancel();
                    Fate::Pass
                }
                None => Fate::Pass,
            }
        }
    }
}
