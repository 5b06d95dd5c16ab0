//! From a process's use cases to whoever does the steps of runs: the models, the tools of this house, and what stands around a step.

use std::sync::Arc;

use pudu_agent::chain;
use pudu_agent::own_tools::own_tools;
use pudu_agent::runner::{Parts, Runner};
use pudu_app::ports::Models;
use pudu_app::wiring::Wiring;

/// A runner that claims under the name `worker`, over the use cases of its process. Opens no connection.
pub fn runner(wiring: &Wiring, models: Arc<dyn Models>, worker: &str) -> Runner {
    Runner::new(parts(wiring, models, worker))
}

/// What it is made of; the simulation adds to it who looks on.
pub fn parts(wiring: &Wiring, models: Arc<dyn Models>, worker: &str) -> Parts {
    let (runs, results) = (wiring.runs(), wiring.results());
    Parts {
        worker: worker.to_owned(),
        runs: runs.store,
        checkpoints: runs.checkpoints,
        memories: wiring.memories(),
        models,
        tools: wiring.tools(),
        keys: runs.keys,
        own: own_tools(&wiring.tasks(), &wiring.memories(), &results),
        lead: chain::lead(&results),
        subagent: chain::subagent(&results),
        clock: runs.clock,
        random: runs.random,
        policy: runs.policy,
        limits: wiring.drain().limits,
        wakeups: runs.wakeups,
    }
}
