//! The background processes: each lives, dies at some call, and is started again after a while; and whoever is woken beside them.

use std::sync::Arc;

use pudu_app::deadline::Deadline;
use pudu_app::ports::{Background, Clock};
use pudu_app::worker::{Call, Work};
use pudu_testkit::sim::Backend;
use pudu_testkit::{Gate, SeededRandom, VirtualClock};
use tokio::task::JoinSet;

use super::World;

/// Starts two agents, a poller and a notifier, and whatever is woken beside them. They end when the set is dropped.
pub(super) fn start<B: Backend>(world: &Arc<World<B>>, random: &SeededRandom) -> JoinSet<()> {
    let mut processes = JoinSet::new();
    for (function, name) in [
        (Background::Agent, "agent-1"),
        (Background::Agent, "agent-2"),
        (Background::Poller, "poller"),
        (Background::Notifier, "notifier"),
    ] {
        processes.spawn(process(Arc::clone(world), function, name, random.fork()));
    }
    processes.spawn(wakes(Arc::clone(world), random.fork()));
    processes
}

async fn wakes<B: Backend>(world: Arc<World<B>>, random: SeededRandom) {
    let begin = |function, items, random: SeededRandom| {
        let world = Arc::clone(&world);
        async move {
            world.wait(random.millis(0..3_000)).await;
            let name = match function {
                Background::Agent => "woken agent",
                Background::Poller => "woken poller",
                Background::Notifier => "woken notifier",
            };
            let process = Process::new(&world, function, name, &random);
            tokio::select! {
                biased;
                () = process.gate.crashed() => {}
                () = Box::pin(process.answer(&world, Call::Wake(items), &random)) => {}
            }
        }
    };
    world.wakes.deliver(&world.weather, &random, begin).await;
}

/// One process after another, for ever.
async fn process<B: Backend>(
    world: Arc<World<B>>,
    function: Background,
    name: &'static str,
    random: SeededRandom,
) {
    loop {
        let process = Process::new(&world, function, name, &random);
        tokio::select! {
            biased;
            () = process.gate.crashed() => {}
            () = Box::pin(process.live(&world, &random)) => {}
        }
        world.wait(random.millis(0..40_000)).await;
    }
}

struct Process {
    function: Background,
    name: &'static str,
    clock: VirtualClock,
    gate: Gate,
    wiring: pudu_app::wiring::Wiring,
}

impl Process {
    fn new<B: Backend>(
        world: &World<B>,
        function: Background,
        name: &'static str,
        random: &SeededRandom,
    ) -> Self {
        let clock = world.skewed(random);
        let gate = world.gate(name, clock, random);
        let wiring = world.wiring(name, clock, &gate, Arc::new(random.fork()));
        Self { function, name, clock, gate, wiring }
    }

    /// Ticks until death. A tick may come twice at once, as a schedule may deliver it.
    async fn live<B: Backend>(&self, world: &World<B>, random: &SeededRandom) {
        loop {
            if random.chance(15) {
                let twice = (self.answer(world, Call::Tick, random), self.answer(world, Call::Tick, random));
                tokio::join!(twice.0, twice.1);
            } else {
                self.answer(world, Call::Tick, random).await;
            }
            world.wait(random.millis(2_000..30_000)).await;
        }
    }

    /// One invocation.
    async fn answer<B: Backend>(&self, world: &World<B>, call: Call, random: &SeededRandom) {
        let work = self.work(world);
        let time = match self.function {
            Background::Agent => random.millis(25_000..200_000),
            Background::Poller | Background::Notifier => random.millis(20_000..90_000),
        };
        let (deadline, was_calm) = (self.clock.now() + time, world.weather.is_calm());
        self.wiring.drain().answer(work, call, Deadline::at(deadline)).await;
        // In rough weather a single call may take longer than that.
        if was_calm && self.clock.now() > deadline {
            world.asked.late(self.name);
        }
    }

    fn work<B: Backend>(&self, world: &World<B>) -> Arc<dyn Work> {
        match self.function {
            Background::Agent => world.agent(self.name, &self.wiring, &self.gate),
            Background::Poller => Arc::new(self.wiring.poller()),
            Background::Notifier => Arc::new(self.wiring.notifier()),
        }
    }
}
