//! One conversation with one server, in whichever era it speaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pudu_app::ports::Era;
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::Client;
use super::era::Recalled;
use super::list::Unsaid;
use crate::session::{self, Session};
use crate::sse;
use crate::stateless::{self, Beside, Probe};
use crate::target::{Target, Way as Asked};
use crate::wire::Failure;

/// Longest wait for the answer to a probe, of which at most a third of the whole limit: some old servers answer
/// unknown methods never, and the handshake after it needs its time.
const PROBE_LIMIT: Duration = Duration::from_secs(10);
/// The same for the stream of a server that refused the handshake: others keep a stream open and never say anything.
const EVENTS_LIMIT: Duration = Duration::from_secs(5);
/// With these the specification has a client try the transport of 2024-11-05 (transports, backwards compatibility).
const TRY_EVENTS: [u16; 3] = [400, 404, 405];

/// An open conversation.
pub(super) struct Link<'a> {
    client: &'a Client,
    target: &'a Target,
    sent: Arc<AtomicBool>,
    way: Way,
    /// Longest wait for the answer to a probe.
    patience: Duration,
}

enum Way {
    /// With what the peer has just said of itself, if it was asked.
    Stateless(Option<Value>),
    Session(Box<Session>),
}

impl<'a> Link<'a> {
    /// Finds the era if it is not known, and opens a session where one is needed. `sent` becomes true when the first
    /// request of the caller is about to be sent.
    pub(super) async fn open(
        client: &'a Client,
        target: &'a Target,
        limit: Duration,
        sent: Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let way = match target.way {
            Asked::Http => found(client, target, limit, &sent).await?,
            Asked::Events => enter(client, target, Era::Events, &sent).await?,
        };
        Ok(Self { client, target, sent, way, patience: patience(limit) })
    }

    /// Whether it is the revision without sessions.
    pub(super) const fn is_stateless(&self) -> bool {
        matches!(self.way, Way::Stateless(_))
    }

    /// What the peer says that it can do. One that will not say it is taken to have nothing out of the ordinary: its tools can
    /// be listed and called all the same.
    pub(super) async fn capabilities(&mut self) -> Result<Option<Value>, Unsaid> {
        Ok(match &mut self.way {
            Way::Session(session) => session.capabilities(),
            Way::Stateless(found @ Some(_)) => found.take(),
            Way::Stateless(None) => match probe(self.client, self.target, self.patience).await {
                Ok(Probe::Stateless(found)) => found,
                // Of a peer that is known to speak this revision it is no word: it failed, or was too slow.
                Ok(Probe::Older) => return Err(Unsaid),
                Err(failure) => {
                    let (server, error) = (&self.target.server, &failure.message);
                    tracing::warn!(
                        server,
                        error,
                        "a server did not say what it can do; until it is asked again its calls do not become tasks"
                    );
                    return Err(Unsaid);
                }
            },
        })
    }

    /// Sends one request and returns its result unchanged. `beside` is only for the newest revision. It is sent a second
    /// time only where the first certainly had no effect: the session was over before it came.
    pub(super) async fn request(
        &mut self,
        method: &'static str,
        params: Map<String, Value>,
        beside: Beside,
    ) -> Result<Value, Failure> {
        let Client { wire, ids, eras, .. } = self.client;
        match &mut self.way {
            Way::Session(session) => {
                let answer = session.request(method, params.clone(), beside.relayed.clone()).await;
                if !session.is_expired() {
                    return answer;
                }
                self.sent.store(false, Ordering::Release);
                **session = Session::open(wire, self.target, Arc::clone(&self.sent)).await?;
                session.request(method, params, beside.relayed).await
            }
            Way::Stateless(_) => {
                self.sent.store(true, Ordering::Release);
                let answer = stateless::request(wire, ids, self.target, method, params, beside).await;
                if let Err(failure) = &answer
                    && stateless::is_wrong_era(failure)
                {
                    eras.forget(&self.target.era_key()).await;
                }
                answer
            }
        }
    }

    /// Ends the conversation, within `limit`.
    pub(super) async fn close(self, limit: Duration) {
        if let Way::Session(session) = self.way {
            session.close(limit).await;
        }
    }
}

/// Speaks as is known, or finds out and remembers. A refusal of what was known says that it is known no more.
async fn found(
    client: &Client,
    target: &Target,
    limit: Duration,
    sent: &Arc<AtomicBool>,
) -> Result<Way, Failure> {
    let key = target.era_key();
    match client.eras.recall(&key).await {
        Recalled::Known(era) => {
            let entered = enter(client, target, era, sent).await;
            if let Err(failure) = &entered
                && session::is_wrong_era(failure)
            {
                client.eras.forget(&key).await;
            }
            entered
        }
        Recalled::Unknown(search) => {
            let (era, way) = discover(client, target, limit, sent).await?;
            search.found(era).await;
            Ok(way)
        }
    }
}

async fn enter(client: &Client, target: &Target, era: Era, sent: &Arc<AtomicBool>) -> Result<Way, Failure> {
    let session = match era {
        Era::Stateless => return Ok(Way::Stateless(None)),
        Era::Session => Session::open(&client.wire, target, Arc::clone(sent)).await?,
        Era::Events => Session::over(sse::connect(&client.wire, target).await?, Arc::clone(sent)).await?,
    };
    Ok(Way::Session(Box::new(session)))
}

/// Tries the eras, newest first.
async fn discover(
    client: &Client,
    target: &Target,
    limit: Duration,
    sent: &Arc<AtomicBool>,
) -> Result<(Era, Way), Failure> {
    if let Probe::Stateless(found) = probe(client, target, patience(limit)).await? {
        return Ok((Era::Stateless, Way::Stateless(found)));
    }
    let refused = match enter(client, target, Era::Session, sent).await {
        Ok(way) => return Ok((Era::Session, way)),
        Err(failure) => failure,
    };
    if !refused.status.is_some_and(|status| TRY_EVENTS.contains(&status)) {
        return Err(refused);
    }
    match timeout(EVENTS_LIMIT.min(limit / 3), enter(client, target, Era::Events, sent)).await {
        Ok(Ok(way)) => Ok((Era::Events, way)),
        // What the POST was refused with says more than that there is no stream either.
        Ok(Err(_)) | Err(_) => Err(refused),
    }
}

/// Probes the peer. A probe without an answer counts as no: an old server may never answer what it does not know.
async fn probe(client: &Client, target: &Target, patience: Duration) -> Result<Probe, Failure> {
    let asked = stateless::probe(&client.wire, &client.ids, target);
    timeout(patience, asked).await.unwrap_or(Ok(Probe::Older))
}

/// How much of `limit` a probe may take.
fn patience(limit: Duration) -> Duration {
    PROBE_LIMIT.min(limit / 3)
}
