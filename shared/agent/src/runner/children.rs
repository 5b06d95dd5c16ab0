//! Delegation: children begin with the commit that parks the run, and bring their results when it goes on.

use std::sync::Arc;

use pudu_app::ports::Applied;
use pudu_domain::chat::{Message, ToolCall};
use pudu_domain::run::{Command, Ending, Outcome, Seen, decide};
use pudu_domain::state::State;
use pudu_domain::{Run, RunId, RunSpec};
use serde_json::json;

use super::progress::{NAME, Progress};
use super::session::{Did, Session, Stop};
use crate::middleware::failure;
use crate::subagents::{self, Begun, Ended, is_begun};
use crate::turn::{Turn, record};

/// How often a child that is given up is looked at again because it changed.
const TRIES: usize = 4;

/// A child that its parent goes on without, or with.
struct Child {
    run: Run,
    spec: RunSpec,
    state: State,
}

impl Session {
    /// Begins children for these calls of `task`, or takes what they brought.
    pub(super) async fn delegate(&mut self, calls: Vec<ToolCall>) -> Result<Did, Stop> {
        let (begun, fresh): (Vec<ToolCall>, Vec<ToolCall>) =
            calls.into_iter().partition(|call| is_begun(&self.state, &self.run.key.id, &call.id));
        if fresh.is_empty() {
            self.collect(begun).await?;
            return Ok(Did::On);
        }
        let (spec, options, run) = (Arc::clone(&self.spec), Arc::clone(&self.options), self.run.clone());
        let mut turn = Turn::new(&run, &spec, &options, self.state.clone(), self.now());
        let Begun { children, refused, until } = subagents::begin(&mut turn, &fresh);
        self.round(&mut turn);
        let mut said = Vec::new();
        for message in refused {
            if let Some(call) = fresh.iter().find(|call| message.tool_call_id.as_ref() == Some(&call.id)) {
                said.push(self.result(&mut turn, call, message).await);
            }
        }
        let Some(until) = until else {
            self.keep(turn, &said, true).await?;
            return Ok(Did::On);
        };
        let (step, _) = self.step(turn, &said, false).await?;
        self.commit(Command::Park { step, children, until }).await?;
        Ok(Did::Left)
    }

    /// Writes down what the children of these calls brought, all of them in one commit.
    async fn collect(&mut self, calls: Vec<ToolCall>) -> Result<(), Stop> {
        let mut children = Vec::with_capacity(calls.len());
        for call in &calls {
            children.push(self.child(call).await?);
        }
        let (spec, options, run) = (Arc::clone(&self.spec), Arc::clone(&self.options), self.run.clone());
        let mut turn = Turn::new(&run, &spec, &options, self.state.clone(), self.now());
        self.round(&mut turn);
        let mut said = Vec::new();
        for (call, child) in calls.iter().zip(&children) {
            let message = match child {
                Some(Child { run, spec, state }) => {
                    subagents::result(&mut turn, call, &Ended { run, spec, state })
                }
                None => failure(call, "MissingRun", "the subagent's run is not there any more"),
            };
            said.push(self.result(&mut turn, call, message).await);
        }
        self.keep(turn, &said, true).await
    }

    /// The child of a call as it ended. One that has not ended is given up.
    async fn child(&mut self, call: &ToolCall) -> Result<Option<Child>, Stop> {
        let key = self.run.key.beside(RunId::of_child(&self.run.key.id, &call.id));
        let (Some(mut run), Some(spec)) =
            (self.parts.runs.load(&key).await?, self.parts.runs.spec(&key).await?)
        else {
            return Ok(None);
        };
        if run.end().is_none() {
            run = self.give_up(run).await?;
        }
        let state = match run.head() {
            Some(head) => self.parts.checkpoints.state(&key, head.number).await?,
            None => State::default(),
        };
        Ok(Some(Child { run, spec, state }))
    }

    /// Ends a child that its parent waits for no longer, which changes the own row too. Returns the child as it was then: one that
    /// ended by itself meanwhile has an end.
    async fn give_up(&mut self, mut child: Run) -> Result<Run, Stop> {
        for _ in 0..TRIES {
            let ending = Ending::new(Outcome::Timeout, Some("its parent waits for it no longer"));
            let seen = Seen { parent: Some(&self.run), ..Seen::default() };
            let Ok(change) = decide(&child, Command::Cancel(ending), &seen, self.now(), &self.parts.policy)
            else {
                return Ok(child);
            };
            let applied = self.parts.runs.commit(&change).await?;
            match self.parts.runs.load(&self.run.key).await? {
                Some(row) if self.holds(&row) => self.run = row,
                _ => return Err(Stop::Gone),
            }
            if applied == Applied::Done {
                return Ok(child);
            }
            match self.parts.runs.load(&child.key).await? {
                Some(row) => child = row,
                None => return Ok(child),
            }
        }
        Ok(child)
    }

    /// Counts a round of tools.
    fn round(&self, turn: &mut Turn<'_>) {
        let mut progress = Progress::of(&self.state);
        progress.begin_round(&self.state);
        turn.count(NAME, &progress);
    }

    /// What the middlewares make of an answer; it is said.
    pub(super) async fn result(&self, turn: &mut Turn<'_>, call: &ToolCall, mut message: Message) -> Message {
        for middleware in self.chain().iter().rev() {
            middleware.after_tool(turn, call, &mut message).await;
        }
        turn.tell(record("llm.tool.result", "message", json!(message), json!({ "tool_call_id": call.id })));
        turn.say(message.clone());
        message
    }
}
