//! The issuer's keys as this process has them, and when they are asked for again.
//!
//! One request at a time, which ends whether or not the caller that began it is still there. Regularly, so that a key that
//! was taken back is out; when a token names a key that is not known, because keys rotate; but then not more often than once
//! in a while, because anybody can name a key. When the issuer does not answer, what was known goes on being used for a
//! time: its outage is not ours.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use jsonwebtoken::DecodingKey;
use pudu_app::oidc::Rules;
use pudu_app::ports::Clock;
use pudu_config::SigningAlgorithm;
use pudu_domain::Timestamp;
use tokio::task::JoinSet;

use super::fetch::{FetchError, fetch};
use super::keys::Keys;
use crate::wire::Wire;

/// For how long keys are used without asking again.
pub(super) const FRESH: Duration = Duration::from_mins(10);
/// For how long they are used when asking fails.
pub(super) const KEPT: Duration = Duration::from_hours(1);
/// Least time between two questions because of a key that is not known.
pub(super) const UNKNOWN: Duration = Duration::from_secs(30);
/// Least time after a question that failed.
pub(super) const RETRY: Duration = Duration::from_secs(10);

/// The keys.
pub(super) struct Ring {
    rules: Arc<Rules>,
    wire: Wire,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

type Flight = Shared<BoxFuture<'static, ()>>;

#[derive(Default)]
struct State {
    held: Option<Held>,
    tried: Option<Tried>,
    flight: Option<Flight>,
    /// Who flies: not the callers, who may hang up.
    running: JoinSet<()>,
}

#[derive(Clone)]
struct Held {
    keys: Arc<Keys>,
    at: Timestamp,
}

/// The last question, when it was answered.
struct Tried {
    at: Timestamp,
    failed: Option<FetchError>,
}

impl Ring {
    /// Without keys.
    pub(super) fn new(rules: Arc<Rules>, wire: Wire, clock: Arc<dyn Clock>) -> Self {
        Self { rules, wire, clock, state: Mutex::default() }
    }

    /// The keys by which a token may be signed that names this one; often none. Errors: the issuer's keys are not known.
    pub(super) async fn find(
        self: &Arc<Self>,
        id: Option<&str>,
        algorithm: SigningAlgorithm,
    ) -> Result<Vec<DecodingKey>, FetchError> {
        if let Some(flight) = self.wait_for(id) {
            flight.await;
        }
        let state = self.lock();
        match state.usable(self.clock.now()) {
            Some(held) => Ok(held.keys.of(id, algorithm)),
            None => {
                Err(state.tried.as_ref().and_then(|tried| tried.failed.clone()).unwrap_or(FetchError::Time))
            }
        }
    }

    /// The question whose answer has to be waited for.
    fn wait_for(self: &Arc<Self>, id: Option<&str>) -> Option<Flight> {
        let now = self.clock.now();
        let mut state = self.lock();
        let held = state.usable(now);
        let stranger = held.is_some_and(|held| id.is_some_and(|id| !held.keys.has(id)));
        let least = if held.is_none() {
            Duration::ZERO
        } else if stranger {
            UNKNOWN
        } else {
            FRESH
        };
        let asks = held.is_none() || stranger;
        match &state.flight {
            // Who has what it needs does not wait for another's question.
            Some(flight) => asks.then(|| flight.clone()),
            None if state.may_ask(now, least) => Some(self.begin(&mut state)),
            None => None,
        }
    }

    fn begin(self: &Arc<Self>, state: &mut State) -> Flight {
        let ring = Arc::clone(self);
        let flight = async move { ring.ask().await }.boxed().shared();
        while state.running.try_join_next().is_some() {}
        state.running.spawn(flight.clone());
        state.flight = Some(flight.clone());
        flight
    }

    async fn ask(&self) {
        let asked = fetch(&self.wire, &self.rules).await;
        let at = self.clock.now();
        let mut state = self.lock();
        state.flight = None;
        let failed = match asked {
            Ok(keys) => {
                if keys.count() == 0 {
                    tracing::warn!(
                        "the issuer of tokens has no key for the configured algorithms: no token is good"
                    );
                }
                state.held = Some(Held { keys: Arc::new(keys), at });
                None
            }
            Err(error) => {
                tracing::warn!(%error, "the issuer of tokens was asked for its keys in vain");
                Some(error)
            }
        };
        state.tried = Some(Tried { at, failed });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each writer leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn usable(&self, now: Timestamp) -> Option<&Held> {
        self.held.as_ref().filter(|held| now.is_within(KEPT, held.at))
    }

    /// Whether the last question is at least so long ago, and longer where it failed.
    fn may_ask(&self, now: Timestamp, least: Duration) -> bool {
        let Some(tried) = &self.tried else { return true };
        let least = if tried.failed.is_some() { RETRY } else { least };
        !now.is_within(least, tried.at)
    }
}
