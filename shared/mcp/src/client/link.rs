//! One conversation with one server, in whichever era it speaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::timeout;

use super::{Client, Era};
use crate::session::{self, Session};
use crate::stateless::{self, Probe};
use crate::target::Target;
use crate::wire::Failure;

/// Longest wait for the answer to a probe, of which at most a third of the whole limit: some old servers answer
/// unknown methods never, and the handshake after it needs its time.
const PROBE_LIMIT: Duration = Duration::from_secs(10);

/// An open conversation.
pub(super) struct Link<'a> {
    client: &'a Client,
    target: &'a Target,
    sent: Arc<AtomicBool>,
    way: Way,
}

enum Way {
    Stateless,
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
        let key = target.era_key();
        let known = client.eras.recall(&key).await;
        let stateless = match known {
            Some(era) => era == Era::Stateless,
            None => is_stateless(client, target, limit).await?,
        };
        let way = if stateless {
            Way::Stateless
        } else {
            match Session::open(&client.wire, target, Arc::clone(&sent)).await {
                Ok(session) => Way::Session(Box::new(session)),
                Err(failure) => {
                    if known.is_some() && session::is_wrong_era(&failure) {
                        client.eras.forget(&key).await;
                    }
                    return Err(failure);
                }
            }
        };
        if known.is_none() {
            client.eras.remember(&key, if stateless { Era::Stateless } else { Era::Session }).await;
        }
        Ok(Self { client, target, sent, way })
    }

    /// Sends one request, once, and returns its result unchanged.
    pub(super) async fn request(
        &self,
        method: &'static str,
        params: Map<String, Value>,
    ) -> Result<Value, Failure> {
        match &self.way {
            Way::Session(session) => session.request(method, params).await,
            Way::Stateless => {
                self.sent.store(true, Ordering::Release);
                let Client { wire, ids, eras, .. } = self.client;
                let answer = stateless::request(wire, ids, self.target, method, params).await;
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

/// Probes the peer. A probe without an answer counts as no: an old server may never answer what it does not know.
async fn is_stateless(client: &Client, target: &Target, limit: Duration) -> Result<bool, Failure> {
    let asked = stateless::probe(&client.wire, &client.ids, target);
    let found = timeout(PROBE_LIMIT.min(limit / 3), asked).await;
    found.map_or(Ok(false), |found| Ok(found? == Probe::Stateless))
}
