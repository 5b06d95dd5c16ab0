//! A look back beside the conversation: what was said since the last one is shown to a model, and what it found worth remembering
//! is learnt (agent reference 7.4).
//!
//! Three things are written, in this order: what the run takes while it asks, the memory, and that the conversation was looked at. Whoever
//! goes on behind the second finds this run among those that the memory has learnt from and asks nobody again; what was not looked at
//! well is looked at with the next.

use std::sync::Arc;
use std::time::Duration;

use pudu_app::memories::MemoryError;
use pudu_app::ports::{ModelError, ModelFault};
use pudu_config::Memory;
use pudu_domain::RunSpec;
use pudu_domain::chat::Message;
use pudu_domain::memory::{Lessons, Terms};
use pudu_domain::run::{ATTEMPTS, Aside, Command, Ending, Operation, Outcome};

use super::aside::{beside, said, unheard};
use super::model::tally;
use super::session::{Session, Stop};
use crate::memory::{self, lesson};
use crate::retry::{After, Retries};

/// When it is tried again after a model that did not answer.
const LATER: Duration = Duration::from_mins(5);

impl Session {
    /// How what was said in this run is to be looked at again: where the operator wants it and a user said something. An event that a
    /// run tells, and what it answered to that, are looked at behind the user's next run.
    pub(super) fn aside(&self) -> Option<Box<Aside>> {
        let settings = &self.options.house.agents.memory;
        if !settings.extracts()
            || self.spec.subagent.is_some()
            || !self.spec.input.iter().any(Message::is_from_user)
        {
            return None;
        }
        let kept = ["model_name", "model", "agent_name"];
        let mut options = self.spec.options.clone();
        options.retain(|name, _| kept.contains(&name.as_str()));
        let operation = Operation::Remember;
        let spec = RunSpec { operation, options, ..RunSpec::of(self.spec.assistant.clone()) };
        Some(Box::new(Aside { spec, after: settings.debounce }))
    }

    /// Looks back, learns, and ends.
    pub(super) async fn look_back(&mut self) -> Result<(), Stop> {
        if self.run.attempts() > ATTEMPTS {
            let why = format!("what was said was looked at {ATTEMPTS} times without getting to an end");
            return Err(Stop::End(Ending::new(Outcome::Error, Some(&why))));
        }
        self.overdue()?;
        let conversation = self.parts.runs.conversation(&self.run.key.thread).await?.ok_or(Stop::Gone)?;
        let settings = self.settings().await?;
        if !settings.extracts() {
            return Err(interrupted("nothing is to be remembered any more"));
        }
        let memories = self.parts.memories.clone();
        let key = memory::key(&self.run, &self.options);
        let memory = memories.read(&key).await?;
        if memory.has_learnt(&self.run.key.id) {
            return Err(Stop::End(Ending::new(Outcome::Success, None)));
        }
        let Some(owed) = self.owed(&conversation).await? else {
            return Err(interrupted("more was said since; it is looked at together"));
        };
        if conversation.active.is_some() && self.waits_for_quiet(settings.debounce).await? {
            return Ok(());
        }
        let said = self.said(&conversation, &owed).await?;
        if said.is_empty() {
            return Err(Stop::End(Ending::new(Outcome::Success, None)));
        }
        let prompt = lesson::prompt(&memory, &said);
        let Some(answer) = self.ask_beside(&settings, prompt).await? else { return Ok(()) };
        let Some(lessons) = lesson::read(&answer, &memory) else {
            return Err(self.failed(lesson::UNREADABLE));
        };
        self.learn(&settings, &lessons).await?;
        Err(Stop::End(Ending::new(Outcome::Success, None)))
    }

    /// Waits, because somebody is at work in the thread; as long as the run has time for it.
    async fn waits_for_quiet(&mut self, debounce: Duration) -> Result<bool, Stop> {
        let until = self.now() + debounce;
        let waits = self.run.until.is_none_or(|end| until < end);
        if waits {
            self.commit(Command::Wait { until }).await?;
        }
        Ok(waits)
    }

    async fn settings(&self) -> Result<Memory, Stop> {
        let current =
            self.parts.tools.configs.current().await.map_err(|error| super::furnish::unread(&error))?;
        Ok(current.document.agents().memory.clone())
    }

    async fn learn(&self, settings: &Memory, lessons: &Lessons) -> Result<(), Stop> {
        let terms = Terms { most: settings.max_facts, threshold: settings.fact_confidence_threshold };
        let (key, run) = (memory::key(&self.run, &self.options), &self.run.key);
        let source = run.thread.thread.as_str();
        match self.parts.memories.learn(&key, (&run.id, source), lessons, terms).await {
            Ok(memory) => {
                tracing::info!(run.id = %run.id, facts = memory.facts.len(), "a conversation was looked through for what is worth remembering");
                Ok(())
            }
            Err(MemoryError::Store(error)) => Err(Stop::Store(error)),
            Err(MemoryError::Busy | MemoryError::Stale | MemoryError::Refused(_)) => Err(Stop::Unready),
        }
    }

    /// The answer of a model beside the conversation; none if it is asked again later, for which the run waits now. What it took stands
    /// with the next commit.
    async fn ask_beside(&mut self, settings: &Memory, prompt: String) -> Result<Option<String>, Stop> {
        let roster =
            self.parts.tools.configs.roster().await.map_err(|error| super::furnish::unread(&error))?;
        // What was said took its time to read: behind the end of his lease another may have asked already.
        self.prolong().await?;
        let name = settings.model.as_deref().or(self.options.model.as_deref());
        let entry = match roster.choose(name, false) {
            Ok(chosen) => chosen.entry,
            Err(error) => return self.unanswered(&error).await,
        };
        let call = beside(entry, prompt);
        let models = Arc::clone(&self.parts.models);
        let answer = match self.watched(unheard(&*models, &call)).await? {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return self.unanswered(&error).await,
            Err(_) => {
                let message =
                    format!("no answer within {} s (request_timeout)", call.entry.timeout.as_secs());
                let (fault, model) = (ModelFault::Transient, call.entry.name.clone());
                return self.unanswered(&ModelError { model, fault, message, retry_after: None }).await;
            }
        };
        let usage = answer.usage_metadata.unwrap_or_default();
        tally(&mut self.run.totals, &call.entry.name, usage, false);
        // Half an answer, or one that was refused, says nothing that could be read.
        Ok(Some(said(&answer).unwrap_or_default()))
    }

    /// A model that may answer another time is asked again, as long as the run has time.
    async fn unanswered(&mut self, error: &ModelError) -> Result<Option<String>, Stop> {
        tracing::info!(run.id = %self.run.key.id, %error, "a model did not say what is worth remembering");
        match Retries::of(u32::MAX - 1).after(error, 0) {
            After::Wait { wait, .. } => {
                let until = self.now() + wait.max(LATER);
                self.commit(Command::Wait { until }).await?;
                Ok(None)
            }
            After::Without(_) | After::GiveUp => Err(self.failed(&error.to_string())),
        }
    }
}

fn interrupted(why: &str) -> Stop {
    Stop::End(Ending::new(Outcome::Interrupted, Some(why)))
}
