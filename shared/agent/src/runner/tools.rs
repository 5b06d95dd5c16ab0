//! A round of tools: the open calls of the model's last message, side by side, each result a commit of its own. A round that was
//! cut off goes on with the calls that have no answer.

use std::sync::Arc;
use std::time::Duration;

use pudu_app::catalog::Role;
use pudu_app::ports::ToolDefinition;
use pudu_domain::chat::{Message, ToolCall};
use pudu_domain::state::State;
use pudu_domain::{Run, RunSpec};
use tokio::task::{AbortHandle, JoinSet};

use super::Parts;
use super::mcp::{Servers, defined};
use super::progress::{NAME, Progress};
use super::session::{Did, Session, Stop};
use super::watch::MARGIN;
use crate::middleware::failure;
use crate::options::Options;
use crate::read_tool_result::{self, READ_TOOL_RESULT};
use crate::subagents::{self, TASK};
use crate::tool::{Bench, Brought, Tool};
use crate::turn::Turn;

/// Most calls of one message that are made.
const CALLS: usize = 64;

/// What a submission may take beyond the time of its call, to record what came of it.
const RECORDING: Duration = Duration::from_secs(15);

/// The calls of a round, under way.
struct Running {
    calls: JoinSet<(ToolCall, Brought)>,
    /// Those that nobody misses.
    others: Vec<AbortHandle>,
}

/// What a round of calls works with.
struct Round {
    parts: Arc<Parts>,
    run: Run,
    spec: Arc<RunSpec>,
    options: Arc<Options>,
    state: State,
    servers: Servers,
}

impl Session {
    /// The tools that the model is offered: ours first, then those of servers.
    pub(super) fn offered(&self) -> Vec<ToolDefinition> {
        let mut offered: Vec<ToolDefinition> = self.own().map(|tool| tool.definition()).collect();
        if self.delegates() {
            offered.push(subagents::definition(&self.options.house.types));
        }
        for tool in self.listed.iter().filter(|tool| self.has(&tool.name)) {
            if offered.iter().all(|other| other.name != tool.name) {
                offered.push(defined(tool));
            }
        }
        offered
    }

    /// Whether its calls of `task` begin children.
    fn delegates(&self) -> bool {
        self.options.subagents && self.spec.subagent.is_none()
    }

    fn own(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        let own = self.parts.own.iter().filter(|tool| tool.is_offered(&self.options));
        own.filter(|tool| self.has(&tool.definition().name))
    }

    /// Whether the run has the tool of that name, if anybody has: a subagent has those of its type.
    fn has(&self, name: &str) -> bool {
        if name == READ_TOOL_RESULT {
            return read_tool_result::is_had(&self.spec);
        }
        self.spec.subagent.as_ref().is_none_or(|subagent| subagent.has(name))
    }

    /// Makes these calls. Those that delegate come last: the run is parked then, and nobody would do the others.
    pub(super) async fn tools(&mut self, calls: Vec<ToolCall>) -> Result<Did, Stop> {
        let (tasks, calls): (Vec<ToolCall>, Vec<ToolCall>) = calls
            .into_iter()
            .partition(|call| self.delegates() && call.name == TASK && !self.is_surplus(call));
        if calls.is_empty() {
            return self.delegate(tasks).await;
        }
        let is_whole = tasks.is_empty();
        let longest = self.parts.limits.front_door + RECORDING;
        let submits = calls.iter().any(|call| self.may_submit(call));
        if submits && self.deadline.remaining(self.now()) < longest + MARGIN {
            return Err(Stop::Late);
        }
        let round = Arc::new(Round {
            parts: Arc::clone(&self.parts),
            run: self.run.clone(),
            spec: Arc::clone(&self.spec),
            options: Arc::clone(&self.options),
            state: self.state.clone(),
            servers: Servers::of(&self.parts, &self.run, &self.spec),
        });
        let stopped: Vec<Option<Message>> = calls.iter().map(|call| self.stopped(call)).collect();
        let mut running = Running { calls: JoinSet::new(), others: Vec::new() };
        for (call, stopped) in calls.into_iter().zip(stopped) {
            let (round, may_submit) = (Arc::clone(&round), self.may_submit(&call));
            let handle = running.calls.spawn(async move {
                let brought = match stopped {
                    Some(answer) => Brought::only(answer),
                    None => round.call(&call).await,
                };
                (call, brought)
            });
            if !may_submit {
                running.others.push(handle);
            }
        }
        let went = self.collected(&mut running.calls, is_whole).await;
        if went.is_err() {
            running.finish(longest).await;
        }
        went.map(|()| Did::On)
    }

    /// Commits what each call brings, as it comes.
    async fn collected(
        &mut self,
        running: &mut JoinSet<(ToolCall, Brought)>,
        is_whole: bool,
    ) -> Result<(), Stop> {
        while let Some(joined) = self.watched(running.join_next()).await? {
            // What a panic says is for nobody who reads a run.
            let (call, brought) = joined.map_err(|error| {
                tracing::error!(run.id = %self.run.key.id, panicked = error.is_panic(), "a call of a tool broke");
                self.failed("a call of a tool broke; the log says more")
            })?;
            let is_last = is_whole && running.is_empty();
            self.answered(&call, brought, is_last).await?;
        }
        Ok(())
    }

    /// Whether the call may begin a durable task at a server.
    fn may_submit(&self, call: &ToolCall) -> bool {
        self.listed.iter().any(|tool| tool.name == call.name && !matches!(tool.role, Role::Call))
    }

    /// Whether its message makes so many calls before it that it is not made.
    fn is_surplus(&self, call: &ToolCall) -> bool {
        let caller = self.state.messages.iter().rev().find(|message| !message.tool_calls.is_empty());
        caller.is_some_and(|caller| caller.tool_calls.iter().skip(CALLS).any(|made| made.id == call.id))
    }

    /// What is answered in a tool's place.
    fn stopped(&self, call: &ToolCall) -> Option<Message> {
        if self.is_surplus(call) {
            let why =
                format!("only the first {CALLS} calls of a message are made; make this one in the next");
            return Some(failure(call, "TooManyCalls", &why));
        }
        if !self.has(&call.name) {
            return Some(failure(call, "UnknownTool", "this agent has no such tool"));
        }
        let turn = Turn::new(&self.run, &self.spec, &self.options, self.state.clone(), self.now());
        self.chain().iter().find_map(|middleware| middleware.before_tool(&turn, call))
    }

    /// Commits what a call brought.
    async fn answered(&mut self, call: &ToolCall, brought: Brought, is_last: bool) -> Result<(), Stop> {
        let Brought { message, writes, notices, ends } = brought;
        let (spec, options, run) = (Arc::clone(&self.spec), Arc::clone(&self.options), self.run.clone());
        let mut turn = Turn::new(&run, &spec, &options, self.state.clone(), self.now());
        for write in writes {
            turn.write(write);
        }
        for notice in notices {
            turn.tell(notice);
        }
        let mut progress = Progress::of(&self.state);
        progress.begin_round(&self.state);
        progress.ended |= ends;
        turn.count(NAME, &progress);
        let message = self.result(&mut turn, call, message).await;
        self.keep(turn, &[message], is_last).await
    }
}

impl Running {
    /// Lets submissions come to their record, for `longest` at most: one that is broken off may run at its server and nobody would
    /// know. Every other call ends here.
    async fn finish(mut self, longest: Duration) {
        for other in &self.others {
            other.abort();
        }
        let finishes = async { while self.calls.join_next().await.is_some() {} };
        if tokio::time::timeout(longest, finishes).await.is_err() {
            tracing::warn!(
                "a submission was broken off; recovery tells its thread that its outcome is not known"
            );
        }
    }
}

impl Round {
    async fn call(&self, call: &ToolCall) -> Brought {
        let own = self.parts.own.iter().filter(|tool| tool.is_offered(&self.options));
        let own = own.into_iter().find(|tool| tool.definition().name == call.name);
        let Some(tool) = own else { return self.servers.call(call).await };
        let bench = Bench {
            run: &self.run,
            spec: &self.spec,
            options: &self.options,
            state: &self.state,
            now: self.parts.clock.now(),
        };
        tool.call(bench, call).await
    }
}
