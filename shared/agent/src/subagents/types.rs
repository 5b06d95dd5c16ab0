//! The types of subagents: those that there always are, those of the operator, and what is said otherwise of either.

use std::time::Duration;

use pudu_config::{BUILT_IN_SUBAGENTS, CustomAgent, Override, Subagents};

use super::{WITHHELD, prompts};

/// Most tokens of a subagent, unless it is said otherwise.
const TOKENS: u64 = 2_000_000;
/// The same, where conversations are summarized.
const TOKENS_SUMMARIZED: u64 = 1_000_000;

/// A type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// Its name.
    pub name: String,
    /// When it is to be used.
    pub description: String,
    /// Its part of the system's message.
    pub instructions: String,
    /// The tools that it has; none is all of its parent's.
    pub tools: Option<Vec<String>>,
    /// Of those, the tools that it does not have.
    pub without: Vec<String>,
    /// Its model; none is its parent's.
    pub model: Option<String>,
    /// Most turns.
    pub max_turns: u32,
    /// How long it may take.
    pub timeout: Duration,
    /// Most tokens.
    pub token_budget: u64,
    /// Why it cannot be used here.
    refused: Option<&'static str>,
}

/// Every type, in the order in which a model is told of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Types {
    all: Vec<Type>,
    /// Most subagents of a run that does not say otherwise.
    pub max_total: u32,
}

impl Default for Types {
    fn default() -> Self {
        Self::new(&Subagents::default(), false, false)
    }
}

impl Types {
    /// The types that the config makes; `bash` can be used only where there is a sandbox.
    pub fn new(settings: &Subagents, summarized: bool, sandbox: bool) -> Self {
        let tokens = if summarized { TOKENS_SUMMARIZED } else { TOKENS };
        let tokens = settings.token_budget.unwrap_or(tokens);
        let built_in = |name: &str, description: &str, instructions: &str, turns: u32| Type {
            name: name.to_owned(),
            description: description.to_owned(),
            instructions: instructions.to_owned(),
            tools: None,
            without: withheld(),
            model: None,
            max_turns: settings.max_turns.unwrap_or(turns),
            timeout: settings.timeout,
            token_budget: tokens,
            refused: None,
        };
        let [general_purpose, bash] = BUILT_IN_SUBAGENTS;
        let general = built_in(general_purpose, prompts::GENERAL_WHEN, prompts::GENERAL, 150);
        let bash = Type {
            tools: Some(["bash", "ls", "read_file", "write_file", "str_replace"].map(str::to_owned).into()),
            refused: (!sandbox).then_some(prompts::NO_SANDBOX),
            ..built_in(bash, prompts::BASH_WHEN, prompts::BASH, 60)
        };
        let mut all = vec![general, bash];
        for (name, own) in &settings.custom {
            all.push(custom(name, own, tokens));
        }
        for kind in &mut all {
            if let Some(otherwise) = settings.overrides.get(&kind.name) {
                overlay(kind, otherwise);
            }
        }
        Self { all, max_total: settings.max_total_per_run }
    }

    /// The types that can be used.
    pub fn usable(&self) -> impl Iterator<Item = &Type> {
        self.all.iter().filter(|kind| kind.refused.is_none())
    }

    /// The type of that name. Errors: why there is none, as a sentence for the model.
    pub fn get(&self, name: &str) -> Result<&Type, String> {
        let named: Vec<&str> = self.usable().map(|kind| kind.name.as_str()).collect();
        let named = named.join(", ");
        match self.all.iter().find(|kind| kind.name == name) {
            Some(Type { refused: Some(why), .. }) => Err(format!("{why} Available subagent types: {named}")),
            Some(kind) => Ok(kind),
            None => Err(format!("Unknown subagent type '{name}'. Available subagent types: {named}")),
        }
    }
}

fn withheld() -> Vec<String> {
    WITHHELD.map(str::to_owned).into()
}

fn custom(name: &str, own: &CustomAgent, tokens: u64) -> Type {
    Type {
        name: name.to_owned(),
        description: own.description.clone(),
        instructions: own.system_prompt.clone(),
        tools: own.tools.clone(),
        without: own.disallowed_tools.clone().unwrap_or_else(withheld),
        model: own.model.clone(),
        max_turns: own.max_turns,
        timeout: own.timeout,
        token_budget: tokens,
        refused: None,
    }
}

fn overlay(kind: &mut Type, otherwise: &Override) {
    kind.timeout = otherwise.timeout.unwrap_or(kind.timeout);
    kind.max_turns = otherwise.max_turns.unwrap_or(kind.max_turns);
    kind.token_budget = otherwise.token_budget.unwrap_or(kind.token_budget);
    kind.model = otherwise.model.clone().or_else(|| kind.model.take());
}
