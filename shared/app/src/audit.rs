//! Nothing administrative happens without its record: it is written before the change is made, and completed after it.
//!
//! Together in one transaction would be shorter, but not everything that is changed is in the table (a config file,
//! sessions, what servers listed). So a record without an outcome says that the process ended in between, or that the caller
//! hung up.

use std::error::Error;
use std::future::Future;
use std::sync::Arc;

use pudu_domain::Principal;

use crate::chain::Chain;
use crate::ports::{AuditLog, AuditRecord, Clock, Outcome, Random, StoreError};

/// Random bytes of a record's id.
const RANDOM_BYTES: usize = 10;
/// Most characters of a record's target and reason.
const CHARS: usize = 500;

/// A change that was not made, or not recorded.
#[derive(Debug, thiserror::Error)]
pub enum AuditError<E: Error + 'static> {
    /// It could not be recorded, so it was not made.
    #[error("the change was not made, because it could not be recorded")]
    NotRecorded(#[source] StoreError),
    /// It failed.
    #[error(transparent)]
    Change(E),
}

/// Records changes.
#[derive(Clone)]
pub struct Audit {
    /// The records.
    pub log: Arc<dyn AuditLog>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Random numbers.
    pub random: Arc<dyn Random>,
}

impl Audit {
    /// Makes `change`, which `who` asks for, between the two writes of its record. `action` is a word or two, such as
    /// `config.put`; `target` says of what, and is never a secret.
    pub async fn change<T, E: Error + Send + 'static>(
        &self,
        who: &Principal,
        action: &str,
        target: &str,
        change: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, AuditError<E>> {
        let at = self.clock.now();
        let mut random = [0; RANDOM_BYTES];
        self.random.fill(&mut random);
        let mut record = AuditRecord {
            id: format!("{:012x}{}", at.as_millis() & 0xffff_ffff_ffff, hex::encode(random)),
            at,
            user: who.user.clone(),
            tag: who.tag.clone(),
            action: action.to_owned(),
            target: cut(target),
            outcome: Outcome::Requested,
        };
        self.log.put(&record).await.map_err(AuditError::NotRecorded)?;
        let changed = change.await;
        record.outcome = match &changed {
            Ok(_) => Outcome::Done,
            Err(error) => Outcome::Failed { reason: cut(&Chain(error).to_string()) },
        };
        // The change stands, or not, whatever becomes of the second write.
        if let Err(error) = self.log.put(&record).await {
            tracing::warn!(error = %Chain(&error), audit.id = record.id, "the outcome of a change was not recorded");
        }
        tracing::info!(
            audit.id = record.id,
            user.id = %record.user,
            credential = %record.tag,
            action,
            target = record.target,
            done = changed.is_ok(),
            "an administrative change"
        );
        changed.map_err(AuditError::Change)
    }
}

/// So much of a text as a record keeps.
fn cut(text: &str) -> String {
    text.chars().take(CHARS).collect()
}
