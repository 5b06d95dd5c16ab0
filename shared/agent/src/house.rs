//! What the operator settled for every run, and what tools there are: as one claim of a run sees it.
//!
//! Read once per claim, so that nothing changes under a step; a new claim sees a new config.

use std::sync::Arc;

use pudu_app::catalog;
use pudu_app::deferral::Deferred;
use pudu_app::hints::Routed;
use pudu_config::{Agents, ToolSearch};

use crate::subagents::Types;

/// It.
#[derive(Debug, Clone, Default)]
pub struct House {
    /// The blocks of the config that are about agents.
    pub agents: Agents,
    /// The types of subagents.
    pub types: Types,
    /// Whether tools are deferred.
    pub search: ToolSearch,
    /// The tools that are; none if none is.
    pub deferred: Option<Deferred>,
    /// Every tool of a server that callers are pointed to.
    pub routed: Vec<Routed>,
    /// What is told of what is remembered of the user; none if nothing is, or it is not the time to tell it.
    pub memory: Option<String>,
    /// The run's model, by its name in the config; none if there is none.
    pub model: Option<String>,
    /// What the run's model can take, in tokens; none if nobody said.
    pub context_window: Option<u64>,
}

impl House {
    /// What follows from the config and from the tools of servers that the run may use. `sandbox` is whether commands can be run
    /// somewhere.
    pub fn new<'a>(
        agents: Agents,
        search: ToolSearch,
        tools: impl IntoIterator<Item = &'a Arc<catalog::Tool>>,
        sandbox: bool,
    ) -> Self {
        let tools = tools
            .into_iter()
            .map(|tool| (tool.function(), Routed { name: tool.name.clone(), routing: tool.routing() }));
        let tools: Vec<_> = tools.collect();
        let routed = tools.iter().map(|(_, routed)| routed.clone()).filter(Routed::is_preferred).collect();
        Self {
            types: Types::new(&agents.subagents, agents.summarization.enabled, sandbox),
            deferred: Deferred::new(search, tools),
            agents,
            search,
            routed,
            memory: None,
            model: None,
            context_window: None,
        }
    }
}
