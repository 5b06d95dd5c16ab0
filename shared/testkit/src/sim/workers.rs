//! The background processes: each lives, dies at some call, and is started again after a while.

use std::sync::Arc;
use std::time::Duration;

use pudu_app::deadline::Deadline;
use pudu_app::limits::Limits;
use pudu_app::ports::{Clock, Random, RunLauncher};
use pudu_app::wiring::{Ports, Wiring};
use pudu_app::worker::Work;
use pudu_config::Document;
use pudu_domain::Policy;
use tokio::task::JoinSet;

use super::World;
use super::backend::Backend;
use super::wakes;
use crate::clock::VirtualClock;
use crate::fixture;
use crate::gate::{Gate, Gated, Open};
use crate::random::SeededRandom;

/// The limits of every worker here: a lease short enough to run out now and then.
pub(crate) fn limits() -> Limits {
    Limits {
        lease: Duration::from_secs(30),
        at_once: 8,
        at_once_per_server: 4,
        linger: Duration::from_millis(500),
        front_door: Duration::from_secs(20),
        ..Limits::default()
    }
}

impl Role {
    /// How long a process may be gone, in milliseconds. Now and then a notifier is gone for so long that what it should
    /// have told is no longer true.
    fn absence(self, random: &SeededRandom) -> u64 {
        match self {
            Self::Notifier if random.chance(25) => 200_000,
            Self::Poller | Self::Notifier => 20_000,
        }
    }
}

/// Which background function a process is.
#[derive(Clone, Copy)]
enum Role {
    Poller,
    Notifier,
}

impl<B: Backend> World<B> {
    /// A process's view of the world: its clock, its gate, its ports.
    pub(crate) fn wiring(
        &self,
        name: &str,
        clock: VirtualClock,
        gate: &Gate,
        random: Arc<dyn Random>,
    ) -> Wiring {
        let clock: Arc<dyn Clock> = Arc::new(clock);
        let stores = self.backend.stores(Arc::clone(&clock), gate);
        let blobs = Arc::new(self.blobs.clone());
        let launcher: Arc<dyn RunLauncher> = Arc::new(self.runs.clone());
        let ports = Ports {
            launcher: Some(Arc::new(Gated::new(launcher, gate.clone()))),
            ..stores.ports(gate, clock, random, &self.server, blobs, self.wakes.waker())
        };
        Wiring::new(ports, Policy::default(), limits(), name.to_owned())
    }

    /// Stores the config, before anything can go wrong; and that somebody works, or the first cancels would be refused.
    pub(crate) async fn prepare(&self, random: &SeededRandom) -> Result<(), String> {
        let gate = Gate::new("setup", Arc::new(self.clock), self.trace.clone(), Open);
        let wiring = self.wiring("setup", self.clock, &gate, Arc::new(random.fork()));
        let document = Document::parse(fixture::config()).map_err(|problems| format!("{problems:?}"))?;
        wiring.configs.seed(document).await.map_err(|error| error.to_string())?;
        let beacons = self.backend.stores(Arc::new(self.clock), &gate).beacons;
        let was_here = fixture::a_poller_was_here(&*beacons, self.clock.now()).await;
        was_here.map_err(|error| error.to_string())
    }

    pub(super) fn gate(&self, name: &str, clock: VirtualClock, random: &SeededRandom) -> Gate {
        let script = self.weather.script(&self.settings, random.fork());
        Gate::new(name, Arc::new(clock), self.trace.clone(), script)
    }

    pub(super) fn skewed(&self, random: &SeededRandom) -> VirtualClock {
        let range = i64::try_from(self.settings.skew_ms).unwrap_or(0);
        let drawn = i64::try_from(random.below(self.settings.skew_ms * 2 + 1)).unwrap_or(0);
        self.clock.skewed(drawn - range)
    }
}

/// Starts two pollers and two notifiers, and whatever is woken beside them. They end when the set is dropped.
pub(super) fn start<B: Backend>(world: &Arc<World<B>>, random: &SeededRandom) -> JoinSet<()> {
    let mut processes = JoinSet::new();
    for (role, name) in [
        (Role::Poller, "poller-1"),
        (Role::Poller, "poller-2"),
        (Role::Notifier, "notifier-1"),
        (Role::Notifier, "notifier-2"),
    ] {
        processes.spawn(process(Arc::clone(world), role, name, random.fork()));
    }
    processes.spawn(wakes::invoke(Arc::clone(world), random.fork()));
    processes
}

/// One process after another, for ever.
async fn process<B: Backend>(world: Arc<World<B>>, role: Role, name: &'static str, random: SeededRandom) {
    let clock = world.skewed(&random);
    loop {
        let gate = world.gate(name, clock, &random);
        let life = live(&world, role, name, clock, &gate, &random);
        tokio::select! {
            biased;
            () = gate.crashed() => {}
            () = life => {}
        }
        world.wait(random.millis(0..role.absence(&random))).await;
    }
}

/// Ticks until death. A tick may come twice at once, as a schedule may deliver it.
async fn live<B: Backend>(
    world: &World<B>,
    role: Role,
    name: &str,
    clock: VirtualClock,
    gate: &Gate,
    random: &SeededRandom,
) {
    let wiring = world.wiring(name, clock, gate, Arc::new(random.fork()));
    let drain = wiring.drain();
    let work: Arc<dyn Work> = match role {
        Role::Poller => Arc::new(wiring.poller()),
        Role::Notifier => Arc::new(wiring.notifier()),
    };
    loop {
        let deadline = Deadline::at(clock.now() + random.millis(20_000..90_000));
        if random.chance(15) {
            tokio::join!(drain.run(Arc::clone(&work), deadline), drain.run(Arc::clone(&work), deadline));
        } else {
            drain.run(Arc::clone(&work), deadline).await;
        }
        world.wait(random.millis(500..role.absence(random) / 2)).await;
    }
}
