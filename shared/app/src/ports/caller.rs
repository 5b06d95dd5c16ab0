//! On whose behalf a server is called.

mod relayed;

use std::collections::BTreeMap;
use std::sync::Arc;

use pudu_domain::ThreadKey;
use secrecy::SecretString;

pub use relayed::{Relayed, ServerError};

/// The user and the thread of a call, and what the request itself brought.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Whose call it is: `user_auth` looks up the user, stdio sessions belong to user and thread.
    pub thread: ThreadKey,
    /// Where `headers_from_context` takes its values from.
    pub secrets: RequestSecrets,
    /// What a caller that speaks MCP itself says beside that.
    pub relayed: Option<Arc<Relayed>>,
}

/// The secrets of one request (reference 5.6, 5.9). They live as long as the request: never stored, never shown.
#[derive(Debug, Clone)]
pub enum RequestSecrets {
    /// A request brought these, by key; often none.
    Given(BTreeMap<String, SecretString>),
    /// The request brought some, and they cannot be had any more: no server that would be sent one is called, whatever it says of
    /// secrets that are missing.
    Gone,
    /// There is no request: a worker asks for a task's status or cancels it. `headers_from_context` does not apply.
    Background,
}

impl Caller {
    /// A caller whose request brought no secrets.
    pub const fn of(thread: ThreadKey) -> Self {
        Self { thread, secrets: RequestSecrets::Given(BTreeMap::new()), relayed: None }
    }

    /// A worker, for the owner of a task.
    pub const fn background(thread: ThreadKey) -> Self {
        Self { thread, secrets: RequestSecrets::Background, relayed: None }
    }
}
