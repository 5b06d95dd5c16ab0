//! From a process's use cases to whoever does the steps of runs: the models, the tools of this house, and what stands around a step.

use std::sync::Arc;

use pudu_agent::middleware::{DynamicContext, Middleware};
use pudu_agent::runner::{Parts, Runner};
use pudu_agent::todos::{Todos, WriteTodos};
use pudu_agent::tool::Tool;
use pudu_app::models::Guarded;
use pudu_app::wiring::Wiring;
use pudu_dynamo::Table;
use pudu_models::Clients;

/// A runner that claims under the name `worker`, over the use cases of its process. `table` has the breakers of models, which all
/// processes share. Opens no connection.
pub fn runner(wiring: &Wiring, table: Arc<Table>, worker: &str) -> Runner {
    let (runs, drain) = (wiring.runs(), wiring.drain());
    let own: Vec<Arc<dyn Tool>> = vec![Arc::new(WriteTodos)];
    let lead: Vec<Arc<dyn Middleware>> = vec![Arc::new(DynamicContext), Arc::new(Todos)];
    let models =
        Guarded::new(Arc::new(Clients::new()), table, Arc::clone(&runs.clock), Arc::clone(&runs.random));
    Runner::new(Parts {
        worker: worker.to_owned(),
        runs: runs.store,
        checkpoints: runs.checkpoints,
        models: Arc::new(models),
        tools: wiring.tools(),
        keys: runs.keys,
        own,
        subagent: lead.clone(),
        lead,
        clock: runs.clock,
        random: runs.random,
        policy: runs.policy,
        limits: drain.limits,
        wakeups: runs.wakeups,
    })
}
