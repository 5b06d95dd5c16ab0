//! What models say in a world: by chance, or what a flow of the matrix wants.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pudu_app::ports::{ModelCall, ModelFault};
use pudu_domain::chat::{Message, Speaker, ToolCall};
use pudu_testkit::fixture::{SERVER, SUBMIT_TOOL};
use pudu_testkit::{FakeServer, SeededRandom, Speech};
use serde_json::{Map, Value, json};

use super::tools::COUNT;

/// The tool that delegates.
const TASK: &str = "task";
/// The tool that asks the user.
const ASK: &str = "ask_clarification";
/// Tasks that a world has at its server, at most: each begins a run that may begin others.
const TASKS: usize = 5;

/// What every model says. Clones say the same.
#[derive(Clone)]
pub(super) struct Talk(Arc<Inner>);

enum Inner {
    ByChance { random: SeededRandom, server: FakeServer },
    ByPlan(Mutex<Plot>),
}

/// What the models of a flow do when they are asked first; behind a tool's answer each of them ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plot {
    /// It answers, slowly.
    Answers,
    /// It calls a tool of this house and one of a server.
    Calls,
    /// It starts a durable task.
    Submits,
    /// It delegates twice.
    Delegates,
    /// It asks its user.
    Asks,
    /// It refuses for good.
    Fails,
    /// It wants to be asked again after a long pause, once.
    Pauses,
    /// It says nothing, for ever.
    Hangs,
}

impl Talk {
    /// By chance: calls, delegations, durable tasks, questions, silence and failures, and an end after a few rounds.
    pub(super) fn new(random: SeededRandom, server: FakeServer) -> Self {
        Self(Arc::new(Inner::ByChance { random, server }))
    }

    pub(super) fn planned(plot: Plot) -> Self {
        Self(Arc::new(Inner::ByPlan(Mutex::new(plot))))
    }

    /// From now on models do this; nothing in a world by chance.
    pub(super) fn change(&self, to: Plot) {
        if let Inner::ByPlan(plot) = &*self.0 {
            *plot.lock().unwrap_or_else(PoisonError::into_inner) = to;
        }
    }

    pub(super) fn speech(&self, call: &ModelCall) -> Speech {
        match &*self.0 {
            Inner::ByChance { random, server } => by_chance(random, server, call),
            Inner::ByPlan(plot) => {
                let mut plot = plot.lock().unwrap_or_else(PoisonError::into_inner);
                let speech = by_plan(*plot, call);
                // The pause is over when it is asked again.
                if *plot == Plot::Pauses {
                    *plot = Plot::Answers;
                }
                speech
            }
        }
    }
}

fn by_chance(random: &SeededRandom, server: &FakeServer, model: &ModelCall) -> Speech {
    let behind = model.messages.iter().rev().take_while(|message| !message.is_users());
    let rounds = behind.filter(|message| message.speaker == Speaker::Ai).count();
    if rounds > 5 || model.tools.is_empty() {
        return Speech::text("done");
    }
    let has = |name: &str| model.tools.iter().any(|tool| tool.name == name);
    let id = |number: u64| format!("{}-{number}", model.id);
    let many = |most: u64| 0..=random.below(most);
    let submit = submit_tool();
    match random.below(100) {
        0..25 => Speech::calls("", many(2).map(|n| call(&id(n), COUNT, json!({"of": id(n)})))),
        25..33 => {
            Speech::calls("let me see", many(2).map(|n| call(&id(n), &echo_tool(), json!({"text": id(n)}))))
        }
        33..48 if has(TASK) => Speech::calls("", many(3).map(|n| call(&id(n), TASK, delegation(&id(n))))),
        48..58 if has(&submit) && server.tasks().len() < TASKS => {
            Speech::calls("this takes long", [call(&id(0), &submit, json!({"topic": id(0)}))])
        }
        58..61 if has(ASK) => Speech::calls("", [call(&id(0), ASK, question())]),
        61..71 => Speech::slowly("one two three four", random.millis(0..9_000)),
        71..75 => Speech::fails(ModelFault::Transient),
        75..78 => Speech::Hangs,
        78..80 => Speech::fails(ModelFault::Other),
        80..82 => Speech::Fails { fault: ModelFault::Burst, retry_after: Some(random.millis(0..90_000)) },
        _ => Speech::text("that is all"),
    }
}

fn by_plan(plot: Plot, model: &ModelCall) -> Speech {
    let last = model.messages.iter().rev().find(|message| !message.is_hidden());
    if last.is_some_and(|last| last.speaker == Speaker::Tool) || model.tools.is_empty() {
        return Speech::text("all done");
    }
    // A subagent and a run that tells an event just answer.
    let is_lead = model.tools.iter().any(|tool| tool.name == ASK);
    let calls = |calls: Vec<ToolCall>| Speech::calls("let me see", calls);
    match plot {
        Plot::Fails => Speech::fails(ModelFault::Other),
        _ if !is_lead => Speech::text("looked at it"),
        Plot::Answers => Speech::slowly("one two three", Duration::from_millis(400)),
        Plot::Calls => {
            calls(vec![call("a", COUNT, json!({"of": "a"})), call("b", &echo_tool(), json!({"text": "hi"}))])
        }
        Plot::Submits => calls(vec![call("s", &submit_tool(), json!({"topic": "x"}))]),
        Plot::Delegates => calls(vec![call("x", TASK, delegation("x")), call("y", TASK, delegation("y"))]),
        Plot::Asks => calls(vec![call("q", ASK, question())]),
        Plot::Pauses => {
            Speech::Fails { fault: ModelFault::Burst, retry_after: Some(Duration::from_secs(60)) }
        }
        Plot::Hangs => Speech::Hangs,
    }
}

/// What a user says in a thread.
pub(super) fn said(text: String) -> Message {
    Message::new(Speaker::Human, "", text)
}

fn call(id: &str, name: &str, args: Value) -> ToolCall {
    let args = match args {
        Value::Object(args) => args,
        _ => Map::new(),
    };
    ToolCall::new(id, name, args)
}

fn submit_tool() -> String {
    format!("{SERVER}_{SUBMIT_TOOL}")
}

fn echo_tool() -> String {
    format!("{SERVER}_echo")
}

fn delegation(prompt: &str) -> Value {
    json!({"description": "look", "prompt": prompt, "subagent_type": "general-purpose"})
}

fn question() -> Value {
    json!({"question": "which year?", "clarification_type": "missing_info"})
}
