//! When things go wrong: by chance while it is rough, never once it is calm.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::Settings;
use crate::gate::{Call, Fate, Mishaps, Script};
use crate::random::SeededRandom;

/// Shared by every gate of a world.
#[derive(Debug, Clone)]
pub(crate) struct Weather(Arc<State>);

#[derive(Debug)]
struct State {
    rough: AtomicBool,
    crashes: AtomicU64,
}

impl Weather {
    pub(crate) fn rough() -> Self {
        Self(Arc::new(State { rough: AtomicBool::new(true), crashes: AtomicU64::new(0) }))
    }

    /// From here on every call passes.
    pub(crate) fn calm(&self) {
        self.0.rough.store(false, Ordering::SeqCst);
    }

    pub(crate) fn is_calm(&self) -> bool {
        !self.0.rough.load(Ordering::SeqCst)
    }

    pub(crate) fn crashes(&self) -> u64 {
        self.0.crashes.load(Ordering::SeqCst)
    }

    /// The script of one worker's life.
    pub(crate) fn script(&self, settings: &Settings, random: SeededRandom) -> impl Script + 'static {
        let weather = self.clone();
        let mut mishaps = Mishaps {
            random,
            crash: settings.crash,
            fail: settings.fail,
            slow: settings.slow,
            slowest: Duration::from_secs(40),
        };
        move |call: Call<'_>| {
            let drawn = mishaps.fate(call);
            if weather.is_calm() {
                return Fate::Pass;
            }
            if matches!(drawn, Fate::CrashBefore | Fate::CrashAfter) {
                weather.0.crashes.fetch_add(1, Ordering::SeqCst);
            }
            drawn
        }
    }
}
