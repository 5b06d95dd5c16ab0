//! Who shows this text: a key of ours, or a token that somebody else issued.
//!
//! A key is looked up by its id. What was found is believed for a second, so a busy caller costs one read a second and
//! process; while the table does not answer it is believed for [`CLOSED_WITHIN`], and then nobody is let in. That an id is not
//! there is remembered as long, so that one wrong key costs no more than a right one; and how many unknown ones are looked up is
//! bounded, so that ever new ones cost no more than that either. Text that cannot be a key costs nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pudu_domain::api_key::PREFIX;
use pudu_domain::bucket::{Bucket, Rate, Taken};
use pudu_domain::{ApiKey, KeyDigest, KeyId, Principal, Timestamp};

use crate::ports::{Clock, KeyStore, StoreError, StoredKey, TokenVerifier, VerifyError};

/// How long what was read of a key is believed.
pub const BELIEVED: Duration = Duration::from_secs(1);
/// After this a revoked key opens nothing, in every process and whatever the table does.
pub const CLOSED_WITHIN: Duration = Duration::from_secs(5);
/// Most ids that are remembered; a thousand bytes each at most.
const REMEMBERED: usize = 10_000;

/// Lookups a second, in this process, of ids by which nobody came in before: more than people mistype, less than what costs.
const STRANGERS_PER_SECOND: u32 = 50;
/// The same at once.
const STRANGERS_BURST: u32 = 200;

/// Nobody was let in.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// It is no key or token, not one of ours, revoked, or over.
    #[error("the credential is not valid")]
    Invalid,
    /// So many unknown ids were shown lately that no more are looked up.
    #[error("too many unknown keys were shown; wait {} s and try again", .0.as_secs())]
    Strangers(Duration),
    /// The table did not say.
    #[error("whether the key is valid cannot be found out now; try again")]
    Store(#[source] StoreError),
    /// The issuer of tokens did not say.
    #[error("whether the token is valid cannot be found out now; try again")]
    Verifier(#[source] VerifyError),
}

/// Tells callers apart.
pub struct Callers {
    store: Arc<dyn KeyStore>,
    verifier: Option<Arc<dyn TokenVerifier>>,
    clock: Arc<dyn Clock>,
    own: Option<Own>,
    seen: Mutex<HashMap<KeyId, Seen>>,
    strangers: Mutex<Bucket>,
}

/// A key that is in no table.
struct Own {
    id: KeyId,
    digest: KeyDigest,
    principal: Principal,
}

/// What was read of a key.
#[derive(Clone)]
struct Seen {
    /// None: there is no such key.
    key: Option<StoredKey>,
    /// When the read was begun.
    at: Timestamp,
    /// Whether somebody reads it again just now.
    asking: bool,
}

/// What to do about a key.
enum Plan {
    /// What was read stands.
    Believe(Option<StoredKey>),
    /// Read it; if that fails, this is what is left.
    Read(Option<Seen>),
    /// Read it, if strangers may be looked up.
    Greet,
}

impl Callers {
    /// Callers by the keys in `store`.
    pub fn new(store: Arc<dyn KeyStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, verifier: None, clock, own: None, seen: Mutex::default(), strangers: Mutex::default() }
    }

    /// The same, who may also come by tokens of an issuer.
    #[must_use]
    pub fn with_verifier(self, verifier: Arc<dyn TokenVerifier>) -> Self {
        Self { verifier: Some(verifier), ..self }
    }

    /// The same, with a key that only this process knows and no table has: for whoever holds the machine.
    #[must_use]
    pub fn with_own(self, key: &ApiKey, principal: Principal) -> Self {
        Self { own: Some(Own { id: key.id().clone(), digest: key.digest(), principal }), ..self }
    }

    /// Who shows `shown`, whatever text that is.
    pub async fn authenticate(&self, shown: &str) -> Result<Principal, AuthError> {
        if !shown.starts_with(PREFIX) {
            let Some(verifier) = &self.verifier else { return Err(AuthError::Invalid) };
            let found = verifier.verify(shown).await.map_err(AuthError::Verifier)?;
            return found.ok_or(AuthError::Invalid);
        }
        let key = ApiKey::parse(shown).ok_or(AuthError::Invalid)?;
        if let Some(own) = self.own.as_ref().filter(|own| own.id == *key.id()) {
            return if own.digest == key.digest() {
                Ok(own.principal.clone())
            } else {
                Err(AuthError::Invalid)
            };
        }
        let stored = self.look_up(key.id()).await?;
        stored.and_then(|stored| stored.admits(&key)).ok_or(AuthError::Invalid)
    }

    async fn look_up(&self, id: &KeyId) -> Result<Option<StoredKey>, AuthError> {
        // Before the read: what is written while it is under way may not be in it.
        let at = self.clock.now();
        let left = match self.plan(id, at) {
            Plan::Believe(key) => return Ok(key),
            Plan::Read(left) => left,
            Plan::Greet => {
                self.greet(at)?;
                None
            }
        };
        // Also when the caller goes away while it is read.
        let asking = Asking { callers: self, id };
        let read = self.store.get(id).await;
        drop(asking);
        match (read, left) {
            (Ok(key), _) => {
                self.remember(id, Seen { key: key.clone(), at, asking: false });
                Ok(key)
            }
            // By the time now: a table that does not answer takes its time.
            (Err(error), Some(left)) if self.clock.now().is_within(CLOSED_WITHIN, left.at) => {
                tracing::warn!(%error, key.id = %id, "a key could not be read again; what was read before still holds");
                Ok(left.key)
            }
            (Err(error), _) => Err(AuthError::Store(error)),
        }
    }

    fn plan(&self, id: &KeyId, now: Timestamp) -> Plan {
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(seen) = all.get_mut(id) else { return Plan::Greet };
        let usable = now.is_within(CLOSED_WITHIN, seen.at);
        // One caller reads it again, the others need not wait for him.
        if now.is_within(BELIEVED, seen.at) || usable && seen.asking {
            return Plan::Believe(seen.key.clone());
        }
        if seen.key.is_none() {
            return Plan::Greet;
        }
        seen.asking = true;
        Plan::Read(usable.then(|| seen.clone()))
    }

    /// Counts a lookup of an id by which nobody came in before. A key's first one in this process counts too: it cannot be told
    /// from a guess before it was read.
    fn greet(&self, now: Timestamp) -> Result<(), AuthError> {
        let Some(rate) = Rate::new(STRANGERS_PER_SECOND, STRANGERS_BURST) else { return Ok(()) };
        let mut strangers = self.strangers.lock().unwrap_or_else(PoisonError::into_inner);
        match strangers.take(rate, now, 1) {
            Taken::Some { left, .. } => {
                *strangers = left;
                Ok(())
            }
            Taken::None { .. } => Err(AuthError::Strangers(Duration::from_secs(1))),
        }
    }

    fn remember(&self, id: &KeyId, new: Seen) {
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED && !all.contains_key(id) {
            let now = self.clock.now();
            // Somebody tries ids faster than they are forgotten: the keys that are there are worth more.
            all.retain(|_, seen| seen.key.is_some() || now.is_within(BELIEVED, seen.at));
            if all.len() >= REMEMBERED {
                all.retain(|_, seen| seen.key.is_some());
            }
            if all.len() >= REMEMBERED {
                all.retain(|_, seen| now.is_within(CLOSED_WITHIN, seen.at));
            }
        }
        // Somebody who began later may have been faster.
        let is_older = all.get(id).is_some_and(|seen| seen.at > new.at);
        let has_room = all.len() < REMEMBERED || new.key.is_some();
        if !is_older && has_room {
            all.insert(id.clone(), new);
        }
    }
}

/// Somebody reads a key again, until this is dropped.
struct Asking<'a> {
    callers: &'a Callers,
    id: &'a KeyId,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut all = self.callers.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = all.get_mut(self.id) {
            seen.asking = false;
        }
    }
}
