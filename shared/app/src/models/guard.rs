//! A model behind its breaker: no call while it is open, and no more at a time than its entry allows (agent reference 1.5 and
//! 10, item 17). It is [`Models`] itself, so whoever retries calls it as the client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pudu_domain::Timestamp;
use pudu_domain::breaker::{Breaker, Entry, Outcome, Refusal, Terms};
use pudu_domain::chat::Message;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::chain::Chain;
use crate::ports::{
    Breakers, Clock, Exchanged, ModelCall, ModelEntry, ModelError, ModelFault, Models, Piece, Random,
    StoreError,
};

/// How long a process believes what it read of a breaker, at least; another second at random, so that processes do not read
/// in step.
const FRESH_FOR: Duration = Duration::from_secs(1);
/// How often an exchange is tried when others were faster each time.
const ATTEMPTS: u32 = 4;
/// Beyond its time limit a call has no more than this to do.
const GRACE: Duration = Duration::from_secs(5);
/// Longest wait for the table.
const PATIENCE: Duration = Duration::from_secs(1);

/// Models, each behind its breaker.
pub struct Guarded {
    models: Arc<dyn Models>,
    door: Arc<Door>,
    /// Of calls that were dropped.
    leaving: Mutex<JoinSet<()>>,
}

/// Where calls come in and leave.
struct Door {
    breakers: Arc<dyn Breakers>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    seen: Mutex<HashMap<String, Seen>>,
}

/// A call that goes on. Dropped, because its run was cancelled or its worker has no time left, it leaves all the same.
struct Inside<'a> {
    guarded: &'a Guarded,
    entry: &'a ModelEntry,
    call: u64,
    began: Timestamp,
    /// The breaker as it was entered; none once it was left.
    breaker: Option<Breaker>,
}

#[derive(Clone)]
struct Seen {
    breaker: Breaker,
    until: Timestamp,
}

impl Guarded {
    /// `models` behind `breakers`.
    pub fn new(
        models: Arc<dyn Models>,
        breakers: Arc<dyn Breakers>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Self {
        let door = Arc::new(Door { breakers, clock, random, seen: Mutex::default() });
        Self { models, door, leaving: Mutex::default() }
    }
}

impl Door {
    /// Asks for a place, and returns the breaker as it is with it. Without the table nobody knows how a model stands, and it is
    /// called.
    async fn enter(&self, entry: &ModelEntry, call: u64) -> Result<Option<Breaker>, Refusal> {
        let terms = Terms { at_once: entry.at_once, longest: entry.timeout + GRACE };
        let mut seen = self.last_seen(&entry.name);
        for _ in 0..ATTEMPTS {
            let breaker = match seen.take() {
                Some(breaker) => breaker,
                None => match self.load(&entry.name).await {
                    Some(breaker) => breaker,
                    None => return Ok(None),
                },
            };
            let after = match breaker.enter(terms, call, self.clock.now()) {
                Entry::Free => return Ok(Some(breaker)),
                Entry::Refused(refusal) => return Err(refusal),
                Entry::Take(after) => after,
            };
            match self.exchange(&entry.name, &breaker, &after).await {
                Some(Exchanged::Not(there)) => seen = Some(there),
                Some(Exchanged::Done) => return Ok(Some(after)),
                None => return Ok(None),
            }
        }
        Err(Refusal::Full { wait: FRESH_FOR })
    }

    /// Says what became of a call that began with `breaker`. Of a closed one without failures nothing is written for a call
    /// that went well.
    async fn leave(&self, model: &str, call: u64, mut breaker: Breaker, outcome: Outcome) {
        for _ in 0..ATTEMPTS {
            let Some(after) = breaker.leave(call, outcome, self.clock.now()) else { return };
            match self.exchange(model, &breaker, &after).await {
                Some(Exchanged::Not(there)) => breaker = there,
                Some(Exchanged::Done) | None => return,
            }
        }
    }

    async fn load(&self, model: &str) -> Option<Breaker> {
        let breaker = self.asked(model, self.breakers.load(model)).await?;
        self.remember(model, &breaker);
        Some(breaker)
    }

    async fn exchange(&self, model: &str, before: &Breaker, after: &Breaker) -> Option<Exchanged> {
        let exchanged = self.asked(model, self.breakers.exchange(model, before, after)).await?;
        match &exchanged {
            Exchanged::Done => self.remember(model, after),
            Exchanged::Not(there) => self.remember(model, there),
        }
        Some(exchanged)
    }

    /// What the table says; none if it does not, which is logged.
    async fn asked<T>(&self, model: &str, asked: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
        let reason = match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(said)) => return Some(said),
            Ok(Err(error)) => Chain(&error).to_string(),
            Err(_) => "it took too long".to_owned(),
        };
        tracing::warn!(model, %reason, "a model is called without its breaker: the table did not answer");
        None
    }

    fn last_seen(&self, model: &str) -> Option<Breaker> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        seen.get(model).filter(|seen| now < seen.until).map(|seen| seen.breaker.clone())
    }

    fn remember(&self, model: &str, breaker: &Breaker) {
        let mut byte = [0];
        self.random.fill(&mut byte);
        let [byte] = byte;
        let until = self.clock.now() + FRESH_FOR + Duration::from_millis(u64::from(byte) * 4);
        let seen = Seen { breaker: breaker.clone(), until };
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned(), seen);
    }
}

#[async_trait]
impl Models for Guarded {
    /// Also fails, as [`ModelFault::Busy`] with the time to wait, while the breaker is open and while as many calls go on as may.
    async fn call(&self, call: &ModelCall, pieces: mpsc::Sender<Piece>) -> Result<Message, ModelError> {
        let mut number = [0; 8];
        self.door.random.fill(&mut number);
        let number = u64::from_be_bytes(number);
        let entry = &call.entry;
        let breaker = self.door.enter(entry, number).await.map_err(|refusal| refused(entry, refusal))?;
        let inside = Inside { guarded: self, entry, call: number, began: self.door.clock.now(), breaker };
        let said = self.models.call(call, pieces).await;
        let outcome = match &said {
            Err(error) if error.fault.is_outage() => Outcome::Failed,
            _ => Outcome::Answered,
        };
        inside.leave(outcome).await;
        said
    }
}

impl Inside<'_> {
    async fn leave(mut self, outcome: Outcome) {
        if let Some(breaker) = self.breaker.clone() {
            self.guarded.door.leave(&self.entry.name, self.call, breaker, outcome).await;
        }
        self.breaker = None;
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let (Some(breaker), Ok(_)) = (self.breaker.take(), Handle::try_current()) else { return };
        let (door, model, call) = (Arc::clone(&self.guarded.door), self.entry.name.clone(), self.call);
        let took = door.clock.now().since(self.began);
        let outcome = if took >= self.entry.timeout { Outcome::Failed } else { Outcome::Dropped };
        let mut leaving = self.guarded.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        while leaving.try_join_next().is_some() {}
        leaving.spawn(async move { door.leave(&model, call, breaker, outcome).await });
    }
}

fn refused(entry: &ModelEntry, refusal: Refusal) -> ModelError {
    let (wait, why) = match refusal {
        Refusal::Open { wait } => (wait, "it failed several times in a row and is left alone for a while"),
        Refusal::Full { wait } => (wait, "as many calls of it go on as its entry allows"),
    };
    let message = format!("{why}; try again in {} s", wait.as_secs().max(1));
    ModelError { model: entry.name.clone(), fault: ModelFault::Busy, message, retry_after: Some(wait) }
}

#[cfg(test)]
mod tests;
