//! Whoever works on runs: claims one and does one step after the other until it ends, waits, or another has to go on.
//!
//! What the next step is follows from the stored state alone (`progress`), and each step is one commit with everything that it
//! brought (`session`). So a run goes on behind the last step that stands, whoever does it, and nothing that stands is done
//! twice. A step that was under way when its worker died is done again.

mod aside;
mod begin;
mod children;
mod chunks;
mod compact;
mod end;
mod furnish;
mod heard;
mod mcp;
mod model;
mod progress;
mod remember;
mod session;
mod speak;
#[cfg(test)]
mod tests;
mod tools;
mod watch;

use std::sync::Arc;

use async_trait::async_trait;
use pudu_app::chain::Chain;
use pudu_app::deadline::Deadline;
use pudu_app::limits::Limits;
use pudu_app::memories::Memories;
use pudu_app::ports::{Clock, ItemKey, Models, Random, RunStore, SealKeys, StoreError};
use pudu_app::runs::checkpoints::Checkpoints;
use pudu_app::tools::Tools;
use pudu_app::wakeups::Wakeups;
use pudu_app::worker::{Ran, Work};
use pudu_domain::run::{ATTEMPTS, Origin};
use pudu_domain::{Lane, Lease, Policy, RunKey, RunSpec};

use crate::middleware::Middleware;
use crate::tool::Tool;
use session::Session;

/// What an invocation must have left to begin with a run, or to do another step.
pub const RESERVE: std::time::Duration = std::time::Duration::from_secs(20);

/// What a runner is made of.
pub struct Parts {
    /// Who claims; a name for this process.
    pub worker: String,
    /// The runs.
    pub runs: Arc<dyn RunStore>,
    /// Their states.
    pub checkpoints: Checkpoints,
    /// What is remembered of users.
    pub memories: Memories,
    /// Who speaks with models.
    pub models: Arc<dyn Models>,
    /// Tools of servers, the catalogue of them, and the config with its models.
    pub tools: Tools,
    /// What opens the secrets of a run's caller.
    pub keys: Arc<dyn SealKeys>,
    /// Tools of this house.
    pub own: Vec<Arc<dyn Tool>>,
    /// What stands around the steps of an agent that users talk to.
    pub lead: Vec<Arc<dyn Middleware>>,
    /// What stands around the steps of a subagent.
    pub subagent: Vec<Arc<dyn Middleware>>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Ids and nonces.
    pub random: Arc<dyn Random>,
    /// The numbers.
    pub policy: Policy,
    /// How long a run is held without a sign of life.
    pub limits: Limits,
    /// How others are woken: children, a parent, who goes on.
    pub wakeups: Wakeups,
}

/// Serves the run lane.
#[derive(Clone)]
pub struct Runner {
    parts: Arc<Parts>,
}

#[async_trait]
impl Work for Runner {
    fn lanes(&self) -> &'static [Lane] {
        &[Lane::Run]
    }

    async fn run(&self, _lane: Lane, key: &ItemKey, deadline: Deadline) -> Ran {
        let ItemKey::Run(key) = key else { return Ran::Refused };
        match self.work(key, deadline).await {
            Ok(ran) => ran,
            Err(error) => {
                tracing::warn!(run.id = %key.id, error = %Chain(&error), "a step of a run was not stored; it is done again when the lease is over");
                Ran::Failed
            }
        }
    }
}

impl Runner {
    /// A runner of these parts.
    pub fn new(parts: Parts) -> Self {
        Self { parts: Arc::new(parts) }
    }

    async fn work(&self, key: &RunKey, deadline: Deadline) -> Result<Ran, StoreError> {
        let now = self.parts.clock.now();
        if deadline.remaining(now) < RESERVE {
            return Ok(Ran::Refused);
        }
        let lease = Lease {
            owner: self.parts.random.owner(&self.parts.worker),
            until: now + self.parts.limits.lease,
        };
        let Some(run) = self.parts.runs.claim(key, lease).await? else { return Ok(Ran::Refused) };
        let spec = match self.parts.runs.spec(key).await {
            Ok(Some(spec)) => spec,
            Err(error @ StoreError::Unavailable { .. }) => return Err(error),
            unreadable => {
                let why = match unreadable {
                    Err(error) => Chain(&error).to_string(),
                    Ok(_) => "it is not there".to_owned(),
                };
                tracing::error!(run.id = %key.id, why, "what a run is to do cannot be read");
                if run.attempts() <= ATTEMPTS {
                    return Ok(Ran::Failed);
                }
                let session = Session::new(Arc::clone(&self.parts), run, RunSpec::of(""), deadline);
                let why = session.failed("what the run is to do cannot be read");
                return session.conclude(Err(why)).await;
            }
        };
        let mut session = Session::new(Arc::clone(&self.parts), run, spec, deadline);
        let went = match session.run.origin {
            Origin::Aside => session.look_back().await,
            Origin::Lead | Origin::Child { .. } => session.go_on().await,
        };
        session.conclude(went).await
    }
}
