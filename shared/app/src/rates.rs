//! How often each user may call, over all instances together (DESIGN section 6).
//!
//! An instance takes a second's worth of tokens from the user's bucket in the table and spends it in memory: one or two
//! writes for each second in which somebody calls, and never one for each call. What it took and did not spend is the price: n
//! instances let through at most n times a second's worth more than the bucket holds. Who finds the bucket empty is turned
//! away for at least a second, in memory too, so that hammering costs nothing and meets a whole second's worth after it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pudu_domain::bucket::{Bucket, Rate, Taken};
use pudu_domain::{Timestamp, UserId};

use crate::chain::Chain;
use crate::ports::{Allowances, Clock, StoreError, Swapped};

/// Longest wait for the table.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often an exchange is tried when others were faster each time.
const ATTEMPTS: u32 = 4;
/// Least time for which somebody is turned away: `Retry-After` knows whole seconds.
const LEAST_WAIT: Duration = Duration::from_secs(1);
/// For how long an instance spends what it may spend alone.
const ALONE: Duration = Duration::from_secs(1);
/// Users that an instance remembers; with more, those who have not called for a while are forgotten.
const MOST_USERS: usize = 10_000;
const WHILE: Duration = Duration::from_secs(10);

/// Too many calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many calls; wait {} s and call again", .wait.as_secs())]
pub struct TooMany {
    /// After how long it makes sense to call again: whole seconds, at least one.
    pub wait: Duration,
}

/// The limits of all users. Clones share them.
#[derive(Clone)]
pub struct Rates(Option<Arc<Limiter>>);

struct Limiter {
    rate: Rate,
    buckets: Arc<dyn Allowances>,
    clock: Arc<dyn Clock>,
    purses: Mutex<HashMap<UserId, Purse>>,
}

/// A user's, locked while the table is asked: one question at a time.
type Purse = Arc<tokio::sync::Mutex<Money>>;

#[derive(Default)]
struct Money {
    tokens: u32,
    /// As it was seen last. Others take from it and nobody gives, so it is never fuller than this.
    seen: Bucket,
    shut: Option<Shut>,
    alone_since: Option<Timestamp>,
    used: Timestamp,
}

struct Shut {
    at: Timestamp,
    wait: Duration,
}

impl Rates {
    /// No limits.
    pub const fn off() -> Self {
        Self(None)
    }

    /// The same limit for each user.
    pub fn new(rate: Rate, buckets: Arc<dyn Allowances>, clock: Arc<dyn Clock>) -> Self {
        Self(Some(Arc::new(Limiter { rate, buckets, clock, purses: Mutex::default() })))
    }

    /// Counts one call of `user`, or turns it away.
    pub async fn spend(&self, user: &UserId) -> Result<(), TooMany> {
        match &self.0 {
            None => Ok(()),
            Some(limiter) => limiter.spend(user).await,
        }
    }
}

impl Limiter {
    async fn spend(&self, user: &UserId) -> Result<(), TooMany> {
        let purse = self.purse(user);
        let mut money = purse.lock().await;
        money.used = self.clock.now();
        if let Some(wait) = money.shut_for(money.used) {
            return Err(TooMany { wait });
        }
        if money.tokens == 0 {
            self.fill(user, &mut money).await?;
        }
        money.tokens = money.tokens.saturating_sub(1);
        Ok(())
    }

    /// Gets at least one token.
    async fn fill(&self, user: &UserId, money: &mut Money) -> Result<(), TooMany> {
        for _ in 0..ATTEMPTS {
            let now = self.clock.now();
            if money.alone_since.is_some_and(|since| now.is_within(ALONE, since)) {
                return Err(money.shut(now, LEAST_WAIT));
            }
            let (tokens, left) = match money.seen.take(self.rate, now, self.rate.per_second()) {
                Taken::Some { tokens, left } => (tokens, left),
                Taken::None { wait } => return Err(money.shut(now, wait)),
            };
            match tokio::time::timeout(PATIENCE, self.buckets.swap(user, money.seen, left)).await {
                Ok(Ok(Swapped::Done)) => {
                    (money.tokens, money.seen) = (tokens, left);
                    return Ok(());
                }
                Ok(Ok(Swapped::Not(there))) => money.seen = there,
                Ok(Err(error)) => {
                    self.alone(money, Some(&error));
                    return Ok(());
                }
                Err(_) => {
                    self.alone(money, None);
                    return Ok(());
                }
            }
        }
        // So many others take from it that it is empty soon.
        Err(money.shut(self.clock.now(), LEAST_WAIT))
    }

    /// Without the table nobody knows what others spend. To let nobody in would make its outage one of every call, also of those
    /// that need no table; to let everybody in would lift the limit just when something is wrong. So each instance lets through,
    /// for each second, what one alone may spend in a second.
    fn alone(&self, money: &mut Money, error: Option<&StoreError>) {
        let reason = error.map_or_else(|| "it took too long".to_owned(), |error| Chain(error).to_string());
        tracing::warn!(%reason, "calls are counted in this process alone: the table did not");
        money.alone_since = Some(self.clock.now());
        money.tokens = self.rate.per_second();
    }

    fn purse(&self, user: &UserId) -> Purse {
        // Each writer leaves it whole.
        let mut purses = self.purses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(purse) = purses.get(user) {
            return Arc::clone(purse);
        }
        if purses.len() >= MOST_USERS {
            let now = self.clock.now();
            // Who is being served is locked, and stays.
            purses.retain(|_, purse| purse.try_lock().map_or(true, |money| now.is_within(WHILE, money.used)));
        }
        let purse = Purse::default();
        // So many at once: those who come now are counted by the table alone.
        if purses.len() < MOST_USERS {
            purses.insert(user.clone(), Arc::clone(&purse));
        }
        purse
    }
}

impl Money {
    /// Shuts it for that long, in whole seconds.
    fn shut(&mut self, at: Timestamp, wait: Duration) -> TooMany {
        let wait = whole_seconds(wait).max(LEAST_WAIT);
        self.shut = Some(Shut { at, wait });
        TooMany { wait }
    }

    /// For how long it is still shut, in whole seconds.
    fn shut_for(&self, now: Timestamp) -> Option<Duration> {
        let Shut { at, wait } = self.shut.as_ref()?;
        now.is_within(*wait, *at).then(|| whole_seconds(wait.saturating_sub(now.since(*at))))
    }
}

/// Rounded up.
const fn whole_seconds(duration: Duration) -> Duration {
    Duration::from_secs(duration.as_secs() + (duration.subsec_nanos() > 0) as u64)
}
