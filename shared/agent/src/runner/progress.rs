//! How far a run is: what the loop itself remembers from step to step, and the next step that follows from the state. Pure.

use pudu_domain::chat::{Speaker, ToolCall};
use pudu_domain::run::{Run, StopReason};
use pudu_domain::state::State;
use serde::{Deserialize, Serialize};

use crate::retry::Retries;

/// By which name it is kept among the counters of the middlewares.
pub(super) const NAME: &str = "loop";

/// What the loop remembers. It begins anew with each run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Progress {
    /// Model calls and tool rounds that were begun.
    pub(super) steps: u32,
    /// The message whose calls were counted last: a round that is cut off, or waits for children, is one round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) round: Option<String>,
    /// The model is asked once more, whatever its last answer calls.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) again: bool,
    /// The run ends here, whatever is open.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) ended: bool,
    /// What cut it short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stopped: Option<StopReason>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failed: Option<String>,
    /// Tools that the provider does not take; the model is not offered them again in this run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) quarantined: Vec<String>,
    /// The tries of a model call whose pause is being waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retries: Option<Retries>,
    /// The checkpoint whose state was told last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) told: Option<u32>,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Next {
    /// Nothing was done yet.
    Begin,
    /// The model is asked.
    Model,
    /// These calls are made.
    Tools(Vec<ToolCall>),
    /// It has ended.
    End,
}

impl Progress {
    /// How far the run of that state is.
    pub(super) fn of(state: &State) -> Self {
        let kept = state.counters.get(NAME).cloned();
        kept.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
    }

    /// Whether something else than its model's last answer ends the run: it failed, asked its user something, or used up what it
    /// may have. Calls to subagents that were not made cut nothing short.
    pub(super) fn is_cut_short(&self) -> bool {
        let stopped = self.stopped.is_some_and(|reason| reason != StopReason::SubagentLimitCapped);
        self.ended || self.failed.is_some() || stopped
    }

    /// Notes what cut the run short. The first reason stays, unless it is the one by which nothing was cut short.
    pub(super) fn stop(&mut self, reason: Option<StopReason>) {
        if matches!(self.stopped, None | Some(StopReason::SubagentLimitCapped)) {
            self.stopped = reason.or(self.stopped);
        }
    }

    /// Notes that the state as of that checkpoint is told. Returns the one that was told before it in this run.
    pub(super) fn tells(&mut self, number: u32) -> Option<u32> {
        self.told.replace(number).filter(|before| *before < number)
    }

    /// Counts the round of tools that the model's last answer wants, once.
    pub(super) fn begin_round(&mut self, state: &State) {
        if !self.has_begun_round(state) {
            self.steps = self.steps.saturating_add(1);
            self.round = state.last_answer().map(|answer| answer.id.clone());
        }
    }

    /// Whether the round of tools that the model's last answer wants was counted.
    fn has_begun_round(&self, state: &State) -> bool {
        self.round.is_some() && self.round.as_ref() == state.last_answer().map(|answer| &answer.id)
    }

    /// Whether `next` is a step more than `limit` allows. A round that was begun is brought to its end: what it did would be lost.
    pub(super) fn is_exhausted(&self, next: &Next, state: &State, limit: u32) -> bool {
        match next {
            Next::Model => self.steps >= limit,
            Next::Tools(_) => self.steps >= limit && !self.has_begun_round(state),
            Next::Begin | Next::End => false,
        }
    }
}

/// The next step of `run` in that state.
pub(super) fn next(run: &Run, state: &State) -> Next {
    if run.checkpoints == 0 {
        return Next::Begin;
    }
    let progress = Progress::of(state);
    if progress.ended {
        return Next::End;
    }
    if progress.again {
        return Next::Model;
    }
    let open: Vec<ToolCall> = state.open_calls().into_iter().cloned().collect();
    // What stands open before the model was asked was written by a client, and a client makes no calls.
    if progress.steps == 0 && !open.is_empty() {
        return Next::Model;
    }
    if !open.is_empty() {
        return Next::Tools(open);
    }
    match state.messages.last() {
        Some(last) if last.speaker == Speaker::Ai && last.invalid_tool_calls.is_empty() => Next::End,
        Some(_) => Next::Model,
        None => Next::End,
    }
}

#[cfg(test)]
mod tests {
    use pudu_domain::chat::{Message, ToolStatus};
    use serde_json::Map;

    use super::*;
    use crate::fixture::World;

    fn world() -> Run {
        World::new(&serde_json::json!({})).run
    }

    fn ai(calls: &[&str]) -> Message {
        let calls = calls.iter().map(|id| ToolCall::new(*id, "t", Map::new()));
        Message { tool_calls: calls.collect(), ..Message::new(Speaker::Ai, "a", "x") }
    }

    fn after(messages: Vec<Message>) -> Next {
        behind(1, messages)
    }

    fn behind(steps: u32, messages: Vec<Message>) -> Next {
        let run = Run { checkpoints: 1, ..world() };
        let mut state = State { messages, ..State::default() };
        let progress = Progress { steps, ..Progress::default() };
        state.counters.insert(NAME.into(), serde_json::to_value(progress).unwrap());
        next(&run, &state)
    }

    #[test]
    fn calls_that_no_model_of_the_run_made_are_not_made() {
        let user = Message::new(Speaker::Human, "h", "hello");
        assert_eq!(behind(0, vec![user, ai(&["1"])]), Next::Model);
    }

    #[test]
    fn the_next_step_follows_from_what_was_said_last() {
        let user = || Message::new(Speaker::Human, "h", "hello");
        let done = Message::tool(&ToolCall::new("1", "t", Map::new()), ToolStatus::Success, "ok");
        assert_eq!(next(&world(), &State::default()), Next::Begin);
        assert_eq!(after(vec![user()]), Next::Model);
        assert_eq!(after(vec![user(), ai(&[])]), Next::End);
        assert!(matches!(after(vec![user(), ai(&["1", "2"])]), Next::Tools(calls) if calls.len() == 2));
        assert!(
            matches!(after(vec![ai(&["1", "2"]), done.clone()]), Next::Tools(calls) if calls[0].id == "2")
        );
        assert_eq!(after(vec![ai(&["1"]), done]), Next::Model);
        assert_eq!(after(vec![ai(&["1"]), user()]), Next::Model, "what was interrupted is not made up for");
        assert_eq!(after(vec![]), Next::End);
    }

    #[test]
    fn calls_to_subagents_that_were_not_made_hide_no_later_reason() {
        let mut progress = Progress::default();
        for (reason, stopped, cut) in [
            (None, None, false),
            (Some(StopReason::SubagentLimitCapped), Some(StopReason::SubagentLimitCapped), false),
            (None, Some(StopReason::SubagentLimitCapped), false),
            (Some(StopReason::TokenCapped), Some(StopReason::TokenCapped), true),
            (Some(StopReason::SubagentLimitCapped), Some(StopReason::TokenCapped), true),
            (Some(StopReason::LoopCapped), Some(StopReason::TokenCapped), true),
        ] {
            progress.stop(reason);
            assert_eq!((progress.stopped, progress.is_cut_short()), (stopped, cut), "{reason:?}");
        }
    }

    #[test]
    fn a_round_is_counted_once_and_brought_to_its_end() {
        let mut state = State { messages: vec![ai(&["1", "2"])], ..State::default() };
        let mut progress = Progress { steps: 1, ..Progress::default() };
        let round = Next::Tools(Vec::new());
        assert!(progress.is_exhausted(&round, &state, 1), "it was not begun");
        progress.begin_round(&state);
        progress.begin_round(&state);
        assert_eq!(progress.steps, 2);
        assert!(!progress.is_exhausted(&round, &state, 2));
        assert!(progress.is_exhausted(&Next::Model, &state, 2));
        state.messages.push(Message { id: "b".into(), ..ai(&["1"]) });
        assert!(progress.is_exhausted(&round, &state, 2), "another answer's round is another");
        progress.begin_round(&state);
        assert_eq!(progress.steps, 3);
    }

    #[test]
    fn what_the_loop_remembers_comes_first() {
        let run = Run { checkpoints: 1, ..world() };
        let mut state = State { messages: vec![ai(&["1"])], ..State::default() };
        let mut remember = |progress: Progress| {
            state.counters.insert(NAME.into(), serde_json::to_value(progress).unwrap());
            next(&run, &state)
        };
        assert_eq!(remember(Progress { again: true, ..Progress::default() }), Next::Model);
        assert_eq!(remember(Progress { ended: true, again: true, ..Progress::default() }), Next::End);
    }
}
