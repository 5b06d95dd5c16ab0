//! One process of a world: its clock, its gate, its ports.

use std::sync::Arc;

use pudu_agent::runner::Runner;
use pudu_app::limits::Limits;
use pudu_app::ports::{Clock, Models, Random};
use pudu_app::wiring::{Ports, Wiring};
use pudu_app::worker::Work;
use pudu_domain::Policy;
use pudu_testkit::gate::Open;
use pudu_testkit::sim::Backend;
use pudu_testkit::{Gate, Gated, SeededRandom, VirtualClock};

use super::World;
use super::mutants::{Fault, watched};
use super::tools::Count;

/// The limits of every worker here: a lease short enough to run out now and then, and longer than any call that is kept to its end.
fn limits() -> Limits {
    Limits {
        lease: std::time::Duration::from_secs(60),
        at_once: 8,
        at_once_per_server: 4,
        linger: std::time::Duration::from_millis(500),
        front_door: std::time::Duration::from_secs(15),
        ..Limits::default()
    }
}

impl<B: Backend> World<B> {
    /// A process's use cases.
    pub(super) fn wiring(
        &self,
        name: &str,
        clock: VirtualClock,
        gate: &Gate,
        random: Arc<dyn Random>,
    ) -> Wiring {
        let clock: Arc<dyn Clock> = Arc::new(clock);
        let mut stores = self.backend.stores(Arc::clone(&clock), gate);
        stores.runs = watched(stores.runs, self.witness.clone(), self.fault);
        let blobs = Fault::blobs(self.fault, Arc::new(self.blobs.clone()));
        let ports = stores.ports(gate, clock, random, &self.server, blobs, self.wakes.waker());
        let wiring = Wiring::new(ports.clone(), Policy::default(), limits(), name.to_owned());
        match Fault::launcher(self.fault, &wiring) {
            None => wiring,
            launcher => {
                let ports = Ports { launcher, ..ports };
                Wiring::new(ports, Policy::default(), limits(), name.to_owned())
            }
        }
    }

    /// Who does the steps of runs, with everything that he has outside of tests, and with who looks on.
    pub(super) fn agent(&self, name: &str, wiring: &Wiring, gate: &Gate) -> Arc<dyn Work> {
        let models: Arc<dyn Models> = Arc::new(self.models.clone());
        let mut parts = pudu_compose::parts(wiring, Arc::new(Gated::new(models, gate.clone())), name);
        parts.own.push(Arc::new(Count(self.witness.clone())));
        parts.lead.insert(0, Arc::new(self.witness.clone()));
        parts.subagent.insert(0, Arc::new(self.witness.clone()));
        let runner: Arc<dyn Work> = Arc::new(Runner::new(parts));
        Fault::runner(self.fault, runner)
    }

    /// The gate of a process that may die.
    pub(super) fn gate(&self, name: &str, clock: VirtualClock, random: &SeededRandom) -> Gate {
        let script = self.weather.script(&self.settings, random.fork());
        Gate::new(name, Arc::new(clock), self.trace.clone(), script)
    }

    /// One that everything passes.
    pub(super) fn open_gate(&self) -> Gate {
        Gate::new("harness", Arc::new(self.clock), self.trace.clone(), Open)
    }

    /// The clock of a process, which is a little off.
    pub(super) fn skewed(&self, random: &SeededRandom) -> VirtualClock {
        let range = i64::try_from(self.settings.skew_ms).unwrap_or(0);
        let drawn = i64::try_from(random.below(self.settings.skew_ms * 2 + 1)).unwrap_or(0);
        self.clock.skewed(drawn - range)
    }
}
