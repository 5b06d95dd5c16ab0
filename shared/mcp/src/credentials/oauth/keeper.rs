//! Finds a valid token: in this process, in the table, or at the token server, which one process at a time asks.

mod renewal;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use pudu_app::chain::Chain;
use pudu_app::ports::{Replaced, StoreError, TokenKey, TokenPorts};
use pudu_config::{Secrets, Server};
use pudu_domain::Token;
use pudu_domain::token::Plan;
use secrecy::SecretString;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Bearer, TokenError, Wanted};
use crate::wire::Wire;
use renewal::ASKING;

/// Pauses between two looks at a row that another process works on; the last one repeats.
const LOOKS: [u64; 5] = [50, 100, 200, 400, 800];
/// Most tokens that a process remembers; past it the memory starts anew, and the table still has them.
const MAX_HELD: usize = 10_000;

/// A token in this process: its row, and the terms under which it was given.
type Slot = (TokenKey, String);

type Flight = Shared<BoxFuture<'static, Result<Bearer, TokenError>>>;

/// The tokens of every server, one renewal per token at a time.
pub(crate) struct Keeper {
    ports: TokenPorts,
    wire: Wire,
    held: Mutex<HashMap<Slot, Held>>,
    flights: Mutex<HashMap<Slot, Flight>>,
    /// A renewal goes on when nobody waits for it any more: what it brings may exist nowhere else.
    running: Mutex<JoinSet<()>>,
}

/// The row as this process last saw it, opened.
struct Held {
    token: Token,
    header: SecretString,
}

impl Keeper {
    pub(crate) fn new(ports: TokenPorts, wire: Wire) -> Self {
        Self { ports, wire, held: Mutex::default(), flights: Mutex::default(), running: Mutex::default() }
    }

    /// What the token of `server` is got with; `None` for a server without OAuth.
    pub(crate) async fn wanted(
        &self,
        server: &Server,
        secrets: &dyn Secrets,
    ) -> Result<Option<Arc<Wanted>>, TokenError> {
        let Some(oauth) = server.oauth(secrets) else { return Ok(None) };
        let oauth = oauth.map_err(|error| TokenError::config(&error))?;
        let server_url = server.remote(secrets).map_err(|error| TokenError::config(&error))?.url;
        let seal = self.ports.keys.current().await;
        let seal = seal.map_err(|error| TokenError::unavailable(Chain(&error).to_string()))?;
        let key = TokenKey { server: server.name.clone(), identity: oauth.identity(&seal, &server_url) };
        let terms = oauth.terms(&seal, &server_url);
        Ok(Some(Arc::new(Wanted { key, terms, oauth, server_url, seal })))
    }

    /// A token to send now. Waits for whoever renews it when there is none that is valid.
    pub(crate) async fn bearer(self: &Arc<Self>, wanted: &Arc<Wanted>) -> Result<Bearer, TokenError> {
        if let Some(bearer) = self.fresh(wanted) {
            return Ok(bearer);
        }
        self.flight(wanted).await
    }

    /// The server does not take this token. Whether another attempt with another token is worth it.
    pub(crate) async fn rejected(&self, wanted: &Wanted, bearer: &Bearer) -> bool {
        let taken_away = self.take_away(wanted, bearer).await.unwrap_or_else(|error| {
            tracing::warn!(server = wanted.key.server, %error, "a rejected token could not be taken away");
            false
        });
        if taken_away {
            let (slot, mut held) = (slot(wanted), lock(&self.held));
            if held.get(&slot).and_then(|held| held.token.access.as_ref()).map(|a| &a.sealed)
                == Some(&bearer.sealed)
            {
                held.remove(&slot);
            }
        }
        taken_away
    }

    /// Waits for the renewals that run, as long as one may take: for when the process ends.
    pub(crate) async fn settled(&self) {
        let mut running = std::mem::take(&mut *lock(&self.running));
        let ended = async { while running.join_next().await.is_some() {} };
        if timeout(ASKING, ended).await.is_err() {
            tracing::warn!("the process ends in the midst of a token request");
        }
    }

    /// The tokens of a server that this process has sent lately: no text may show them.
    pub(crate) fn known(&self, server: &str) -> Vec<SecretString> {
        let held = lock(&self.held);
        held.iter()
            .filter(|((key, _), _)| key.server == server)
            .map(|(_, held)| held.header.clone())
            .collect()
    }

    async fn take_away(&self, wanted: &Wanted, bearer: &Bearer) -> Result<bool, StoreError> {
        let Some(stored) = self.ports.store.load(&wanted.key).await? else { return Ok(false) };
        if stored.access.as_ref().is_some_and(|access| access.sealed != bearer.sealed) {
            return Ok(true);
        }
        let now = self.ports.clock.now();
        match stored.rejected(&bearer.sealed, now) {
            // Whoever was faster has changed the row, so there is, or soon will be, another token.
            Some(without) => {
                self.ports.store.replace(&wanted.key, Some(&stored), &without).await.map(|_| true)
            }
            None => Ok(stored.access.is_none()),
        }
    }

    /// From this process alone: nothing is asked for a call in the ordinary case.
    fn fresh(&self, wanted: &Wanted) -> Option<Bearer> {
        let held = lock(&self.held);
        let Held { token, header } = held.get(&slot(wanted))?;
        match token.plan(self.ports.clock.now(), wanted.oauth.refresh_skew) {
            Plan::Use(access) => Some(Bearer { header: header.clone(), sealed: access.sealed.clone() }),
            _ => None,
        }
    }

    /// Joins the flight of this token, or begins one.
    fn flight(self: &Arc<Self>, wanted: &Arc<Wanted>) -> Flight {
        let (slot, mut flights) = (slot(wanted), lock(&self.flights));
        if let Some(flight) = flights.get(&slot) {
            return flight.clone();
        }
        let (keeper, wanted) = (Arc::clone(self), Arc::clone(wanted));
        let landing = Landing { keeper: Arc::clone(self), slot: slot.clone() };
        let flight = async move {
            let _landing = landing;
            keeper.get(&wanted).await
        }
        .boxed()
        .shared();
        flights.insert(slot, flight.clone());
        let mut running = lock(&self.running);
        while running.try_join_next().is_some() {}
        let alone = flight.clone();
        running.spawn(async move { drop(alone.await) });
        flight
    }

    async fn get(&self, wanted: &Wanted) -> Result<Bearer, TokenError> {
        let mut skew = wanted.oauth.refresh_skew;
        let mut looks = LOOKS.into_iter();
        loop {
            let stored = match self.ports.store.load(&wanted.key).await {
                Ok(stored) => stored,
                Err(error) => return self.without_table(wanted, &error),
            };
            let mut token = stored.clone().unwrap_or_default();
            let bearer = wanted.bearer(&token);
            if bearer.is_none() {
                // Given under other terms: as good as none. Only whoever may renew the row may act on that.
                token.access = None;
            }
            match (token.plan(self.ports.clock.now(), skew), bearer) {
                (Plan::Use(_), Some(bearer)) => {
                    self.hold(wanted, &token, &bearer);
                    return Ok(bearer);
                }
                (Plan::Refused(reason), _) => return Err(TokenError::refused(reason)),
                (Plan::Backoff { until, reason }, _) => {
                    let seconds = until.since(self.ports.clock.now()).as_secs().max(1);
                    return Err(TokenError::unavailable(format!(
                        "{reason}; it is asked again in {seconds} s"
                    )));
                }
                (Plan::Wait(_), _) => {
                    self.ports.clock.sleep(Duration::from_millis(looks.next().unwrap_or(800))).await;
                    // What is there after waiting is as new as it gets, however soon it ends.
                    skew = Duration::ZERO;
                }
                (Plan::Refresh | Plan::Use(_), _) => {
                    let claimed = token.claimed(self.lease());
                    match self.ports.store.replace(&wanted.key, stored.as_ref(), &claimed).await {
                        Ok(Replaced::Done) if claimed.is_held_for(ASKING, self.ports.clock.now()) => {
                            return self.renewed(wanted, claimed).await;
                        }
                        // Lost, or won and then stopped for so long that another may be at it: look again.
                        Ok(Replaced::Done | Replaced::Lost(_)) => skew = Duration::ZERO,
                        Err(error) => return self.without_table(wanted, &error),
                    }
                }
            }
        }
    }

    /// Keeps the token of the row for the next call.
    fn hold(&self, wanted: &Wanted, token: &Token, bearer: &Bearer) {
        let mut held = lock(&self.held);
        if held.len() >= MAX_HELD {
            held.clear();
        }
        held.insert(slot(wanted), Held { token: token.clone(), header: bearer.header.clone() });
    }

    /// While the table does not answer, what this process has is used to its end.
    fn without_table(&self, wanted: &Wanted, error: &StoreError) -> Result<Bearer, TokenError> {
        tracing::warn!(server = wanted.key.server, error = %Chain(error), "the table did not give a token");
        let held = lock(&self.held);
        let valid = held.get(&slot(wanted)).and_then(|held| {
            match held.token.plan(self.ports.clock.now(), Duration::ZERO) {
                Plan::Use(access) => {
                    Some(Bearer { header: held.header.clone(), sealed: access.sealed.clone() })
                }
                _ => None,
            }
        });
        valid.ok_or_else(|| TokenError::unavailable(error.to_string()))
    }
}

/// Takes the flight off the list when it is over, also when it panicked: its result is for those who waited.
struct Landing {
    keeper: Arc<Keeper>,
    slot: Slot,
}

impl Drop for Landing {
    fn drop(&mut self) {
        lock(&self.keeper.flights).remove(&self.slot);
    }
}

fn slot(wanted: &Wanted) -> Slot {
    (wanted.key.clone(), wanted.terms.clone())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
