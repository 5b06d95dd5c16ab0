//! What a call says beside what it calls: whether its caller may repeat it, and whether the caller is still there.

use pudu_config::sha256_hex;
use pudu_domain::IdempotencyKey;
use pudu_domain::task::{Delivery, Repeatable};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::catalog::Role;

/// The terms of one call.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// With a key, a repeated submission gets the first one's task; it means nothing to a call that starts none.
    pub key: Option<IdempotencyKey>,
    /// Cancelled when the caller has hung up. Without a key nobody can ask for the task again then, so it is not kept.
    pub gone: CancellationToken,
    /// Whether the caller wants a task where a tool leaves it the choice.
    pub durable: bool,
    /// Whether the caller takes the result only, where the server would leave it the choice: it cannot follow a task.
    pub plain: bool,
    /// Who is told when a task that it starts needs attention; an agent says its thread's agent.
    pub delivery: Delivery,
}

impl Terms {
    /// Whether a call of a tool that does this may become a task. One that does is brought to its record, also when its caller
    /// hangs up; any other ends with its caller.
    pub const fn may_start_task(&self, role: &Role) -> bool {
        match role {
            Role::Call => false,
            Role::Submit(_) => true,
            Role::MayBecomeTask => !self.plain,
            Role::Core { always } => *always || self.durable,
        }
    }

    /// Whether nobody can ever learn of a task that is submitted now.
    pub(super) fn is_abandoned(&self) -> bool {
        self.key.is_none() && self.gone.is_cancelled()
    }

    /// By what a repetition of this call of `tool` is recognised: by the arguments as they came, before anything is made of
    /// them, and in any order of their keys.
    pub(super) fn repeatable(&self, tool: &str, arguments: &Map<String, Value>) -> Option<Repeatable> {
        let key = self.key.as_ref()?.digest();
        Some(Repeatable { key, request: sha256_hex(&json!([tool, arguments, self.durable])) })
    }
}
