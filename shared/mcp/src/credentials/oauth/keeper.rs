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
use pudu_domain::token::{Access, Plan};
use secrecy::SecretString;
use tokio::task::JoinSet;

use super::{Bearer, TokenError, Wanted};
use crate::wire::Wire;
use renewal::ASKING;

/// Pauses between two looks at a row that another process works on; the last one repeats.
const LOOKS: [u64; 5] = [50, 100, 200, 400, 800];
/// Most tokens that a process remembers; past it the memory starts anew, and the table still has them.
const MAX_HELD: usize = 10_000;

type Flight = Shared<BoxFuture<'static, Result<Bearer, TokenError>>>;

/// The tokens of every server, one renewal per token at a time.
pub(crate) struct Keeper {
    ports: TokenPorts,
    wire: Wire,
    held: Mutex<HashMap<TokenKey, Held>>,
    flights: Mutex<HashMap<TokenKey, Flight>>,
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
        Ok(Some(Arc::new(Wanted { key, oauth, server_url, seal })))
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
            let mut held = lock(&self.held);
            if held.get(&wanted.key).and_then(|held| held.token.access.as_ref()).map(|a| &a.sealed)
                == Some(&bearer.sealed)
            {
                held.remove(&wanted.key);
            }
        }
        taken_away
    }

    /// The tokens of a server that this process has sent lately: no text may show them.
    pub(crate) fn known(&self, server: &str) -> Vec<SecretString> {
        let held = lock(&self.held);
        held.iter().filter(|(key, _)| key.server == server).map(|(_, held)| held.header.clone()).collect()
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
        let Held { token, header } = held.get(&wanted.key)?;
        match token.plan(self.ports.clock.now(), wanted.oauth.refresh_skew) {
            Plan::Use(access) => Some(Bearer { header: header.clone(), sealed: access.sealed.clone() }),
            _ => None,
        }
    }

    /// Joins the flight of this token, or begins one.
    fn flight(self: &Arc<Self>, wanted: &Arc<Wanted>) -> Flight {
        let mut flights = lock(&self.flights);
        if let Some(flight) = flights.get(&wanted.key) {
            return flight.clone();
        }
        let (keeper, wanted) = (Arc::clone(self), Arc::clone(wanted));
        let key = wanted.key.clone();
        let landing = Landing { keeper: Arc::clone(self), key: key.clone() };
        let flight = async move {
            let _landing = landing;
            keeper.get(&wanted).await
        }
        .boxed()
        .shared();
        flights.insert(key, flight.clone());
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
            let token = stored.clone().unwrap_or_default();
            match token.plan(self.ports.clock.now(), skew) {
                Plan::Use(access) => match self.opened(wanted, &token, access) {
                    Some(bearer) => return Ok(bearer),
                    None => return self.renew(wanted, stored.as_ref()).await,
                },
                Plan::Refused(reason) => return Err(TokenError::refused(reason)),
                Plan::Backoff { until, reason } => {
                    let seconds = until.since(self.ports.clock.now()).as_secs().max(1);
                    return Err(TokenError::unavailable(format!(
                        "{reason}; it is asked again in {seconds} s"
                    )));
                }
                Plan::Wait(_) => {
                    self.ports.clock.sleep(Duration::from_millis(looks.next().unwrap_or(800))).await;
                    // What is there after waiting is as new as it gets, however soon it ends.
                    skew = Duration::ZERO;
                }
                Plan::Refresh => {
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

    /// A token that does not open was sealed with another key: as good as none.
    async fn renew(&self, wanted: &Wanted, stored: Option<&Token>) -> Result<Bearer, TokenError> {
        tracing::warn!(
            server = wanted.key.server,
            "a stored token does not open with this key; another one is asked for"
        );
        let claimed = stored.cloned().unwrap_or_default().claimed(self.lease());
        match self.ports.store.replace(&wanted.key, stored, &claimed).await {
            Ok(Replaced::Done) => self.renewed(wanted, claimed).await,
            Ok(Replaced::Lost(_)) => {
                Err(TokenError::unavailable("another process asks for a token; try again"))
            }
            Err(error) => self.without_table(wanted, &error),
        }
    }

    /// The token of the row, kept for the next call.
    fn opened(&self, wanted: &Wanted, token: &Token, access: &Access) -> Option<Bearer> {
        let header = wanted.seal.open(&wanted.key.place(), access.sealed.as_str()).ok()?;
        self.hold(wanted, token, &header);
        Some(Bearer { header, sealed: access.sealed.clone() })
    }

    fn hold(&self, wanted: &Wanted, token: &Token, header: &SecretString) {
        let mut held = lock(&self.held);
        if held.len() >= MAX_HELD {
            held.clear();
        }
        held.insert(wanted.key.clone(), Held { token: token.clone(), header: header.clone() });
    }

    /// While the table does not answer, what this process has is used to its end.
    fn without_table(&self, wanted: &Wanted, error: &StoreError) -> Result<Bearer, TokenError> {
        tracing::warn!(server = wanted.key.server, error = %Chain(error), "the table did not give a token");
        let held = lock(&self.held);
        let valid = held.get(&wanted.key).and_then(|held| {
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
    key: TokenKey,
}

impl Drop for Landing {
    fn drop(&mut self) {
        lock(&self.keeper.flights).remove(&self.key);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
