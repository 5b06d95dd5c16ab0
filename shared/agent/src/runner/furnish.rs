//! What a claim reads once beside the run: the config, the tools of servers, the model, and what is remembered of the user.

use std::sync::Arc;
use std::time::Duration;

use pudu_app::chain::Chain;
use pudu_app::configs::ConfigError;
use pudu_app::models::Chosen;
use pudu_app::ports::ModelError;
use pudu_config::Memory;

use super::mcp::principal;
use super::session::{Session, Stop};
use crate::house::House;
use crate::memory;
use crate::middleware::is_due;
use crate::options::Options;

/// How long servers whose tools are not known are waited for: a run does not stand still for one that is down.
const DISCOVERY: Duration = Duration::from_secs(10);
/// How long what is remembered is waited for.
const REMEMBERING: Duration = Duration::from_secs(5);

impl Session {
    /// Reads what the operator settled and which tools there are. A config that cannot be read ends no run.
    pub(super) async fn furnish(&mut self) -> Result<(), Stop> {
        let tools = self.parts.tools.clone();
        let current = tools.configs.current().await.map_err(|error| unread(&error))?;
        if self.spec.operation.is_run() {
            self.list().await?;
        }
        let document = &current.document;
        let mut search = document.tool_search();
        // Who has a few tools by name is shown them: the tool that searches need not be one of them.
        search.enabled &= self.spec.subagent.as_ref().is_none_or(|subagent| subagent.tools.is_none());
        // Nothing runs commands yet, so no type that only does that can be used.
        let mut house = House::new(document.agents().clone(), search, &self.listed, false);
        house.memory = self.remembered(&house.agents.memory).await?;
        if let Ok(chosen) = self.chosen().await? {
            house.context_window = chosen.context_window;
            house.model = Some(chosen.entry.name);
        }
        self.options = Arc::new(Options { house: Arc::new(house), ..Options::clone(&self.options) });
        Ok(())
    }

    /// What is told of what is remembered, if this is the time to tell it. What cannot be read in time is not told: the run goes on.
    async fn remembered(&mut self, settings: &Memory) -> Result<Option<String>, Stop> {
        let is_told = self.spec.operation.is_run() && self.spec.subagent.is_none();
        if !settings.tells() || !is_told || !is_due(&self.state, self.now()) {
            return Ok(None);
        }
        let (memories, key) = (self.parts.memories.clone(), memory::key(&self.run, &self.options));
        match self.watched(tokio::time::timeout(REMEMBERING, memories.read(&key))).await? {
            Ok(Ok(read)) => Ok(memory::told::told(&read, settings.max_injection_tokens)),
            Ok(Err(error)) => {
                tracing::warn!(run.id = %self.run.key.id, error = %Chain(&error), "a run goes on without what is remembered");
                Ok(None)
            }
            Err(_) => {
                tracing::warn!(run.id = %self.run.key.id, "a run goes on without what is remembered, which could not be read in time");
                Ok(None)
            }
        }
    }

    /// Looks up which tools of servers there are.
    async fn list(&mut self) -> Result<(), Stop> {
        let catalog = Arc::clone(&self.parts.tools.catalog);
        match self.watched(catalog.now(DISCOVERY)).await? {
            Ok(catalogue) => {
                let who = principal(&self.run, &self.spec);
                let has = |name: &str| self.spec.subagent.as_ref().is_none_or(|subagent| subagent.has(name));
                let visible = catalogue.visible_to(&who).filter(|tool| has(&tool.name));
                self.listed = visible.cloned().collect();
            }
            Err(error) => {
                tracing::warn!(run.id = %self.run.key.id, error = %Chain(&error), "a run goes on without the tools of servers");
            }
        }
        Ok(())
    }

    /// The run's model. Inside, why there is none that can be asked. The config may have come late: whoever asks that model behind the
    /// end of his lease may ask what another has asked.
    pub(super) async fn chosen(&mut self) -> Result<Result<Chosen, ModelError>, Stop> {
        let roster = self.parts.tools.configs.roster().await.map_err(|error| unread(&error))?;
        self.prolong().await?;
        Ok(roster.choose(self.options.model.as_deref(), self.options.thinking))
    }
}

/// A config that cannot be read is no fault of the run's.
pub(super) fn unread(error: &ConfigError) -> Stop {
    tracing::warn!(error = %Chain(error), "the config cannot be read; a run is tried again later");
    Stop::Unready
}
