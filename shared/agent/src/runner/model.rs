//! A step of the model: what it is sent, its answer, and what the middlewares make of that.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use pudu_app::depth::{MAX_DEPTH, is_shallow};
use pudu_app::models::Chosen;
use pudu_app::ports::{ModelCall, ModelError, ModelFault, Random, ToolDefinition};
use pudu_domain::chat::{InvalidToolCall, Message, Speaker, ToolCall, Usage};
use pudu_domain::run::{Command, Notice, Totals};
use serde_json::{Value, json};

use super::aside::Beside;
use super::chunks::unique;
use super::progress::{NAME, Progress};
use super::session::{Did, Session, Stop};
use crate::middleware::{Flow, Request};
use crate::retry::{self, After, Retries};
use crate::turn::{Turn, record};

/// Longest pause before another try that is waited for here; for a longer one the run is parked, which costs nothing.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// Longest pause that is made at all, whatever a provider names: whoever waits for the run is told sooner that it failed.
const LONGEST: Duration = Duration::from_mins(10);

/// What came of asking.
enum Asked {
    /// An answer, or what stands for one.
    Answer { answer: Box<Message>, notices: Vec<Notice>, failed: Option<ModelError> },
    /// Another try, after a long pause.
    Pause { wait: Duration, notices: Vec<Notice>, retries: Retries },
}

impl Session {
    pub(super) async fn model(&mut self) -> Result<Did, Stop> {
        let parts = Arc::clone(&self.parts);
        let (spec, options, run) = (Arc::clone(&self.spec), Arc::clone(&self.options), self.run.clone());
        let chain = self.chain().to_vec();
        let mut turn = Turn::new(&run, &spec, &options, self.state.clone(), self.now());
        let mut progress = Progress::of(&self.state);
        progress.steps += 1;
        progress.again = false;
        let chosen = self.available().await?;
        let entry = chosen.entry.clone();
        let aside = Beside { parts: &parts, run: &run, entry: Some(&entry) };
        self.watched(async {
            for middleware in &chain {
                middleware.before_model(&mut turn, &aside).await;
            }
        })
        .await?;
        let tools = self.offered();
        let mut request = Request { system: Vec::new(), messages: turn.state().messages.clone(), tools };
        for middleware in &chain {
            middleware.shape(&turn, &mut request);
        }
        let (mut answer, notices, failed) = match self.ask(&chosen, request, &mut progress).await? {
            Asked::Answer { answer, notices, failed } => (*answer, notices, failed),
            Asked::Pause { wait, notices, retries } => {
                // What was written before the call stays, the step itself is begun again.
                let steps = progress.steps.saturating_sub(1);
                turn.count(NAME, &Progress { steps, retries: Some(retries), ..progress });
                for notice in notices {
                    turn.tell(notice);
                }
                return self.pause(turn, wait).await;
            }
        };
        for notice in notices {
            turn.tell(notice);
        }
        tally(&mut turn.totals, &entry.name, answer.usage_metadata.unwrap_or_default(), failed.is_none());
        identified(&mut answer);
        let mut flow = Flow::Go;
        if let Some(error) = failed {
            turn.fail(error.to_string());
        } else {
            for middleware in chain.iter().rev() {
                flow = middleware.after_model(&mut turn, &mut answer);
                if flow != Flow::Go {
                    break;
                }
            }
        }
        progress.again = flow == Flow::Again;
        progress.ended = flow == Flow::End;
        progress.stop(turn.stopped());
        progress.failed = progress.failed.take().or_else(|| turn.failed().map(str::to_owned));
        let metadata = json!({ "model_name": entry.name, "usage": answer.usage_metadata });
        turn.tell(record("llm.ai.response", "message", json!(answer), metadata));
        turn.say(answer.clone());
        turn.count(NAME, &progress);
        self.keep(turn, &[answer], true).await?;
        Ok(Did::On)
    }

    /// Asks until there is an answer or no reason to ask again.
    async fn ask(
        &mut self,
        chosen: &Chosen,
        mut request: Request,
        progress: &mut Progress,
    ) -> Result<Asked, Stop> {
        let entry = &chosen.entry;
        let mut retries = progress.retries.take().unwrap_or_else(|| Retries::of(entry.retries));
        request.tools.retain(|tool| !progress.quarantined.contains(&tool.name));
        loop {
            let call = self.call(chosen, &request);
            let error = match self.speak(&call).await? {
                Ok(spoken) => {
                    let message = Message { id: call.id, ..spoken.message };
                    let (answer, notices) = (Box::new(message), spoken.frames);
                    return Ok(Asked::Answer { answer, notices, failed: None });
                }
                Err(error) => error,
            };
            tracing::info!(run.id = %self.run.key.id, %error, "a model did not answer");
            let told = json!({ "message": error.message, "reason": retry::reason(&error.fault) });
            let record = record("llm.error", "error", told, json!({ "model_name": entry.name }));
            match self.after(&mut retries, &error) {
                After::Wait { wait, attempt, most } => {
                    let data = retry::event(&error, attempt, most, wait);
                    let notices = vec![Notice::Frame { event: "custom".to_owned(), data }, record];
                    if wait > PATIENCE {
                        return Ok(Asked::Pause { wait, notices, retries });
                    }
                    self.wait(wait, notices).await?;
                }
                After::Without(name) if request.tools.iter().any(|tool| tool.name == name) => {
                    let left_out = quarantine(&mut request.tools, &name, &error.fault);
                    progress.quarantined.push(name);
                    self.tell(vec![record, left_out]).await?;
                }
                After::Without(_) | After::GiveUp => {
                    // Under an id of its own: of the try that failed something may have been told.
                    let answer = retry::fallback(&self.answer_id(), &error);
                    let mut notices = vec![record];
                    notices.extend(self.spoken(&answer, &entry.name));
                    return Ok(Asked::Answer { answer: Box::new(answer), notices, failed: Some(error) });
                }
            }
        }
    }

    /// The run's model. One whose secret cannot be read just now is tried again, as one that does not answer.
    pub(super) async fn available(&mut self) -> Result<Chosen, Stop> {
        let mut retries = Retries::of(pudu_config::MAX_RETRIES);
        loop {
            let error = match self.chosen().await? {
                Ok(chosen) => return Ok(chosen),
                Err(error) => error,
            };
            let After::Wait { wait, attempt, most } = self.after(&mut retries, &error) else {
                return Err(self.failed(&error.to_string()));
            };
            let data = retry::event(&error, attempt, most, wait);
            self.wait(wait, vec![Notice::Frame { event: "custom".to_owned(), data }]).await?;
        }
    }

    /// What is done after a failure. A pause that is too long, or that the run has no time for, is none.
    fn after(&self, retries: &mut Retries, error: &ModelError) -> After {
        match retries.after(error, self.draw()) {
            After::Wait { wait, .. } if wait > LONGEST => After::GiveUp,
            After::Wait { wait, .. } if self.run.until.is_some_and(|until| self.now() + wait >= until) => {
                After::GiveUp
            }
            after => after,
        }
    }

    async fn wait(&mut self, wait: Duration, notices: Vec<Notice>) -> Result<(), Stop> {
        self.tell(notices).await?;
        let clock = Arc::clone(&self.parts.clock);
        self.watched(clock.sleep(wait)).await
    }

    /// Parks the run for that long.
    async fn pause(&mut self, turn: Turn<'_>, wait: Duration) -> Result<Did, Stop> {
        let (step, _) = self.step(turn, &[], false).await?;
        let until = self.now() + wait;
        self.commit(Command::Park { step, children: Vec::new(), until }).await?;
        Ok(Did::Left)
    }

    /// The call of that request. Each try has an id of its own: a client adds pieces up by it.
    fn call(&self, chosen: &Chosen, request: &Request) -> ModelCall {
        let mut messages = Vec::with_capacity(request.messages.len() + 1);
        if !request.system.is_empty() {
            messages.push(Message::new(Speaker::System, "system", request.system.join("\n\n")));
        }
        messages.extend(request.messages.iter().cloned());
        ModelCall {
            entry: chosen.entry.clone(),
            messages,
            tools: request.tools.clone(),
            id: self.answer_id(),
            reasoning_effort: chosen.effort(self.options.reasoning_effort.as_deref()),
        }
    }

    fn answer_id(&self) -> String {
        format!("ai-{:016x}", self.draw())
    }

    fn draw(&self) -> u64 {
        draw(&*self.parts.random)
    }
}

/// 64 random bits.
pub(super) fn draw(random: &dyn Random) -> u64 {
    let mut bytes = [0; 8];
    random.fill(&mut bytes);
    u64::from_be_bytes(bytes)
}

/// Leaves a tool out that the provider does not take, and says which, whose, and where its schema is at fault.
fn quarantine(tools: &mut Vec<ToolDefinition>, name: &str, fault: &ModelFault) -> Notice {
    let server = tools.iter().find(|tool| tool.name == name).and_then(|tool| tool.server.clone());
    tools.retain(|tool| tool.name != name);
    let path = if let ModelFault::Schema { path, .. } = fault { path.clone() } else { None };
    tracing::warn!(
        tool.name = name,
        server = server.as_deref(),
        path,
        "a model does not take a tool's schema; the run goes on without it"
    );
    let content = json!({ "tool": name, "server": server, "path": path });
    record("middleware:tool_schema", "middleware", content, json!({}))
}

/// Adds up what a call took.
pub(super) fn tally(totals: &mut Totals, model: &str, usage: Usage, of_the_agent: bool) {
    totals.calls = totals.calls.saturating_add(1);
    totals.tokens += usage;
    *totals.by_model.entry(model.to_owned()).or_default() += usage;
    let whose = if of_the_agent { &mut totals.lead } else { &mut totals.middleware };
    *whose = whose.saturating_add(usage.total_tokens);
}

/// Gives every call an id that no other call has, also none that was forgotten or is another run's: answers, delegations and
/// tasks are told apart by it, and there are models that count their calls from nought each time.
fn identified(answer: &mut Message) {
    let mut taken = BTreeSet::new();
    for (index, call) in answer.tool_calls.iter_mut().enumerate() {
        if call.name.trim().is_empty() {
            "unknown_tool".clone_into(&mut call.name);
        }
        call.id = unique(&answer.id, &call.id);
        if !taken.insert(call.id.clone()) {
            call.id = format!("{}-{index}", call.id);
            taken.insert(call.id.clone());
        }
    }
    for (index, invalid) in answer.invalid_tool_calls.iter_mut().enumerate() {
        let id = invalid.id.take().filter(|id| !id.trim().is_empty());
        invalid.id = Some(unique(&answer.id, &id.unwrap_or_else(|| format!("invalid{index}"))));
    }
    // What is too deep could be stored and never be read again.
    let (shallow, deep): (Vec<ToolCall>, Vec<ToolCall>) = std::mem::take(&mut answer.tool_calls)
        .into_iter()
        .partition(|call| call.args.values().all(is_shallow));
    answer.tool_calls = shallow;
    answer.invalid_tool_calls.extend(deep.into_iter().map(|call| InvalidToolCall {
        name: Some(call.name),
        args: None,
        id: Some(call.id),
        error: Some(format!("the arguments hold more than {MAX_DEPTH} objects and arrays in each other")),
    }));
    answer.additional_kwargs.retain(|_, value| is_shallow(value));
    answer.response_metadata.retain(|_, value| is_shallow(value));
    // What a provider sends of them beside the calls would contradict them.
    answer.additional_kwargs.remove("tool_calls");
    if answer.response_metadata.get("finish_reason") == Some(&Value::Null) {
        answer.response_metadata.remove("finish_reason");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    #[test]
    fn no_two_calls_of_a_conversation_have_one_id() {
        let with = |id: &str, calls: &[&str]| Message {
            tool_calls: calls.iter().map(|call| ToolCall::new(*call, "", Map::new())).collect(),
            ..Message::new(Speaker::Ai, id, "")
        };
        let mut ids = BTreeSet::new();
        for answer in ["ai-00000000000000aa", "ai-00000000000000bb"] {
            let mut answer = with(answer, &["call_0", "", "x", "x"]);
            identified(&mut answer);
            assert!(answer.tool_calls.iter().all(|call| call.name == "unknown_tool"));
            ids.extend(answer.tool_calls.into_iter().map(|call| call.id));
        }
        assert_eq!(ids.len(), 8, "{ids:?}");
        assert!(ids.contains("call_0-000000aa") && ids.contains("x-000000bb"), "{ids:?}");
    }

    #[test]
    fn what_is_too_deep_to_be_read_again_is_not_kept() {
        let deep = (0..70).fold(Value::Null, |inner, _| json!([inner]));
        let args = Map::from_iter([("a".to_owned(), deep.clone())]);
        let mut answer =
            Message { tool_calls: vec![ToolCall::new("1", "t", args)], ..Message::new(Speaker::Ai, "a", "") };
        answer.additional_kwargs.insert("x".into(), deep);
        identified(&mut answer);
        assert_eq!((answer.tool_calls.len(), answer.invalid_tool_calls.len()), (0, 1));
        assert!(answer.additional_kwargs.is_empty());
    }
}
