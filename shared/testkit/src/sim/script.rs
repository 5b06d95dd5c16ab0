//! When things go wrong: by chance and in spells while it is rough, never once it is calm.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::Settings;
use crate::clock::VirtualClock;
use crate::gate::{Call, Fate, Mishaps, Script};
use crate::lock::lock;
use crate::random::SeededRandom;

/// Shared by every gate of a world.
#[derive(Clone)]
pub struct Weather(Arc<State>);

struct State {
    rough: AtomicBool,
    crashes: AtomicU64,
    clock: VirtualClock,
    spells: Mutex<Vec<Spell>>,
}

/// A time in which one thing goes wrong for everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spell {
    pub(crate) from: Duration,
    pub(crate) until: Duration,
    pub(crate) what: Trouble,
}

/// What goes wrong in a spell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The server takes calls and answers none of them.
    ServerHangs,
    /// The server does what it is asked, and nobody hears of it.
    ServerMute,
    /// The server is slow.
    ServerSlow,
    /// The server cannot be reached.
    ServerUnreachable,
    /// The table refuses some of what it is asked.
    TableThrottles,
    /// The table refuses everything.
    TableDown,
    /// The table is slow.
    TableSlow,
}

impl Trouble {
    const ALL: [Self; 7] = [
        Self::ServerHangs,
        Self::ServerMute,
        Self::ServerSlow,
        Self::ServerUnreachable,
        Self::TableThrottles,
        Self::TableDown,
        Self::TableSlow,
    ];

    fn fate(self, call: Call<'_>, random: &SeededRandom) -> Option<Fate> {
        // Longer than any limit of a call, and than any lease.
        const NEVER: Duration = Duration::from_hours(1);
        let at_the_server = call.op.starts_with("driver.") || call.op.starts_with("mcp.");
        // What models do wrong is in what they say.
        if call.op.starts_with("models.") {
            return None;
        }
        let drawn = random.millis(0..15_000);
        match self {
            Self::ServerHangs if at_the_server => Some(Fate::Delay(NEVER)),
            Self::ServerMute if at_the_server => Some(Fate::Late(NEVER)),
            Self::ServerSlow if at_the_server => Some(Fate::Late(drawn)),
            Self::ServerUnreachable if at_the_server => Some(Fate::FailBefore),
            Self::TableThrottles if !at_the_server && drawn.subsec_millis() < 400 => Some(Fate::FailBefore),
            Self::TableDown if !at_the_server => Some(Fate::FailBefore),
            Self::TableSlow if !at_the_server => Some(Fate::Late(drawn / 10)),
            _ => None,
        }
    }
}

impl Weather {
    /// Rough weather, with no spells yet.
    pub fn rough(clock: VirtualClock) -> Self {
        let (rough, crashes) = (AtomicBool::new(true), AtomicU64::new(0));
        Self(Arc::new(State { rough, crashes, clock, spells: Mutex::default() }))
    }

    /// Spells within the rough time, as many as the settings say at most.
    pub fn draw(&self, settings: &Settings, random: &SeededRandom) {
        let end = u64::try_from(settings.rough.as_millis()).unwrap_or(u64::MAX).max(1);
        let spell = |_| {
            let from = random.millis(0..end);
            let until = from + random.millis(1_000..60_000);
            Some(Spell { from, until, what: *random.pick(&Trouble::ALL)? })
        };
        *lock(&self.0.spells) = (0..random.below(settings.spells + 1)).filter_map(spell).collect();
    }

    /// From here on every call passes.
    pub fn calm(&self) {
        self.0.rough.store(false, Ordering::SeqCst);
    }

    /// Whether every call passes.
    pub fn is_calm(&self) -> bool {
        !self.0.rough.load(Ordering::SeqCst)
    }

    /// Workers that died so far.
    pub fn crashes(&self) -> u64 {
        self.0.crashes.load(Ordering::SeqCst)
    }

    /// The script of one worker's life.
    pub fn script(&self, settings: &Settings, random: SeededRandom) -> impl Script + 'static {
        let (weather, chances) = (self.clone(), random.fork());
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
                return drawn;
            }
            weather.spell(call, &chances).unwrap_or(drawn)
        }
    }

    fn spell(&self, call: Call<'_>, chances: &SeededRandom) -> Option<Fate> {
        let now = self.0.clock.elapsed();
        let spells = lock(&self.0.spells);
        let mut troubles = spells.iter().filter(|spell| (spell.from..spell.until).contains(&now));
        troubles.find_map(|spell| spell.what.fate(call, chances))
    }
}
