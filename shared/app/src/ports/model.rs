//! Models, as the agent calls them: a conversation and tools go in, pieces come while it speaks, one message is the answer.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use pudu_domain::chat::Message;
use secrecy::SecretString;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

/// How a provider is spoken with (agent reference 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Chat completions as `OpenAI` has them, at any base URL.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Amazon Bedrock's Converse.
    Bedrock,
    /// None: the built-in script, which calls nobody. Every answer says so.
    Scripted,
}

/// One configured model, as it is to be called: `$VAR` is resolved. `Debug` shows no secret.
#[derive(Clone)]
pub struct ModelEntry {
    /// Its unique name in the config.
    pub name: String,
    /// The provider's id of it.
    pub model: String,
    /// How it is spoken with.
    pub dialect: Dialect,
    /// Where; none is the provider's own address.
    pub base_url: Option<String>,
    /// The credential.
    pub api_key: Option<SecretString>,
    /// More headers of each request.
    pub headers: Vec<(String, SecretString)>,
    /// Most tokens of an answer.
    pub max_tokens: Option<u32>,
    /// How much chance is in it.
    pub temperature: Option<f64>,
    /// How long a whole call may take. Default 600 s.
    pub timeout: Duration,
    /// How long the stream may be silent. Default 240 s.
    pub chunk_timeout: Duration,
    /// How often a call is tried again, by whoever calls. Default 2.
    pub retries: u32,
    /// Most calls of it at a time, over all processes ([`Breakers`](super::Breakers)); none is no limit.
    pub at_once: Option<u32>,
    /// Whether the provider is asked to keep what calls begin with, where one has to ask; none is as its dialect does.
    pub caches: Option<bool>,
    /// What goes into the provider's request as it is, thinking switches included; `null` takes a field away.
    pub extra: Map<String, Value>,
    /// What stands in there for variables. It is shown to nobody else.
    pub variables: Vec<SecretString>,
}

/// A tool as a model is offered it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// Its visible name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The schema of its arguments.
    pub schema: Value,
    /// The server that has it, for reports; none for one of ours.
    pub server: Option<String>,
}

/// One call of a model.
#[derive(Debug, Clone)]
pub struct ModelCall {
    /// Which model.
    pub entry: ModelEntry,
    /// What was said, the system's message first.
    pub messages: Vec<Message>,
    /// What it may call.
    pub tools: Vec<ToolDefinition>,
    /// The id that the answer's message gets.
    pub id: String,
    /// How hard it is to think, where the model takes that.
    pub reasoning_effort: Option<String>,
}

/// What comes while a model speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// More of its text.
    Text(String),
    /// More of what it thinks.
    Thought(String),
    /// More of a tool call.
    Call {
        /// Which of the answer's calls, from 0.
        index: usize,
        /// Its id, when it begins.
        id: Option<String>,
        /// The tool's name, when it begins.
        name: Option<String>,
        /// More of its arguments.
        args: String,
    },
}

/// What kind of failure it is, in the order in which it is looked for (agent reference 1.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelFault {
    /// The account has nothing left; trying again does not help.
    Quota,
    /// The credential is not taken; trying again does not help.
    Auth,
    /// Too many calls at once; tried again with a budget of its own.
    Burst,
    /// The connection, a time-out, a 5xx; tried again.
    Transient,
    /// The stream was silent for too long; tried again once.
    Stalled,
    /// The provider is busy; tried again.
    Busy,
    /// The provider does not take a tool's schema; the call is made again without that tool.
    Schema {
        /// Which tool, if the provider says so.
        tool: Option<String>,
        /// Where in its schema, as a JSON path, if the provider says so.
        path: Option<String>,
    },
    /// Anything else; not tried again.
    Other,
}

impl ModelFault {
    /// Whether it says that the provider is down or overloaded, and not that it refuses this call.
    pub const fn is_outage(&self) -> bool {
        match self {
            Self::Burst | Self::Transient | Self::Stalled | Self::Busy => true,
            Self::Quota | Self::Auth | Self::Schema { .. } | Self::Other => false,
        }
    }
}

/// A model did not answer. It never shows a credential, and nothing of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("model '{model}' did not answer: {message}")]
pub struct ModelError {
    /// Which model.
    pub model: String,
    /// What kind of failure.
    pub fault: ModelFault,
    /// What the provider said, redacted and at most 500 characters.
    pub message: String,
    /// When it says one may try again.
    pub retry_after: Option<Duration>,
}

impl ModelEntry {
    /// A model with the defaults, without a credential, at the provider's own address.
    pub fn new(name: impl Into<String>, model: impl Into<String>, dialect: Dialect) -> Self {
        Self {
            name: name.into(),
            model: model.into(),
            dialect,
            base_url: None,
            api_key: None,
            headers: Vec::new(),
            max_tokens: None,
            temperature: None,
            timeout: pudu_config::REQUEST_TIMEOUT,
            chunk_timeout: pudu_config::CHUNK_TIMEOUT,
            retries: pudu_config::MAX_RETRIES,
            at_once: None,
            caches: None,
            extra: Map::new(),
            variables: Vec::new(),
        }
    }
}

impl fmt::Debug for ModelEntry {
    // By hand: the address and what is passed on may hold secrets too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelEntry")
            .field("name", &self.name)
            .field("model", &self.model)
            .field("dialect", &self.dialect)
            .finish_non_exhaustive()
    }
}

/// Whoever speaks with models.
#[async_trait]
pub trait Models: Send + Sync {
    /// Makes one call, without any retry. Pieces are sent as they come; a receiver that is gone is no error. Dropping the
    /// future ends the call.
    async fn call(&self, call: &ModelCall, pieces: mpsc::Sender<Piece>) -> Result<Message, ModelError>;
}
