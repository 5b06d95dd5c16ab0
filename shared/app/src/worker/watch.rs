//! The beacon of one invocation: raised before it works, renewed while it does, lowered before its last look.

use std::sync::Arc;
use std::time::Duration;

use pudu_domain::{Owner, Timestamp};

use super::drain::Drain;
use crate::chain::Chain;
use crate::ports::{Awake, Background, Beacon, Beacons, Raised, StoreError};

/// How often whoever is awake looks whether word was left: what is due at once waits that long for him.
const LOOK: Duration = Duration::from_secs(1);

/// Where the beacon stands.
pub(super) struct Watch {
    beacons: Arc<dyn Beacons>,
    function: Background,
    holder: Owner,
    /// How long it shines without being renewed.
    shines: Duration,
    /// When this invocation stops beginning anything.
    ends: Timestamp,
    /// Whether it is ours, or should be.
    up: bool,
    /// Whether a request is on its way.
    asking: bool,
    renew_at: Timestamp,
    look_at: Timestamp,
    /// The words that were heard.
    heard: u64,
}

/// A request about the beacon.
pub(super) enum Ask {
    Renew(Awake),
    Look,
}

/// What came of one.
pub(super) enum Answered {
    Renewed { at: Timestamp, raised: Result<Raised, StoreError> },
    Looked(Result<Beacon, StoreError>),
}

/// What that means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// Nothing.
    None,
    /// Word was left.
    Knocked,
    /// Somebody else is awake instead of us.
    Relieved,
}

impl Watch {
    pub(super) fn new(drain: &Drain, function: Background, ends: Timestamp) -> Self {
        Self {
            beacons: Arc::clone(&drain.beacons),
            function,
            holder: drain.random.owner(function.as_str()),
            shines: drain.limits.beacon,
            ends,
            up: false,
            asking: false,
            renew_at: Timestamp::default(),
            look_at: Timestamp::default(),
            heard: 0,
        }
    }

    /// Raises it; none when the table did not say: then it is tried again while there is work.
    pub(super) async fn raise(&mut self, now: Timestamp, relieves: Option<Timestamp>) -> Option<Raised> {
        let awake = self.awake(now);
        let raised = self.beacons.raise(self.function, &awake, relieves).await;
        let told = raised.as_ref().ok().copied();
        self.up = told != Some(Raised::Theirs);
        if let Some(Raised::Ours { knocks }) = told {
            // What was said before is what this invocation looks for anyway.
            self.heard = knocks;
        }
        self.renewed(now, raised);
        told
    }

    /// Lowers it, if it is up. If that fails it is over by itself.
    pub(super) async fn lower(&mut self) {
        if !std::mem::take(&mut self.up) {
            return;
        }
        if let Err(error) = self.beacons.lower(self.function, &self.holder).await {
            tracing::debug!(error = %Chain(&error), "the beacon was not lowered; it ends by itself");
        }
    }

    /// What is to be asked now, if anything.
    pub(super) fn due(&mut self, now: Timestamp) -> Option<Ask> {
        if !self.up || self.asking || now < self.look_at {
            return None;
        }
        self.asking = true;
        self.look_at = now + LOOK;
        Some(if now >= self.renew_at { Ask::Renew(self.awake(now)) } else { Ask::Look })
    }

    /// Asks, beside whatever else happens.
    pub(super) fn ask(&self, at: Timestamp, ask: Ask) -> impl Future<Output = Answered> + Send + 'static {
        let (beacons, function) = (Arc::clone(&self.beacons), self.function);
        async move {
            match ask {
                Ask::Renew(awake) => {
                    Answered::Renewed { at, raised: beacons.raise(function, &awake, None).await }
                }
                Ask::Look => Answered::Looked(beacons.look(function).await),
            }
        }
    }

    /// Whether it shines for us, as far as is known.
    pub(super) const fn is_up(&self) -> bool {
        self.up
    }

    /// Whether a request is on its way.
    pub(super) const fn is_asking(&self) -> bool {
        self.asking
    }

    /// Takes an answer in.
    pub(super) fn answered(&mut self, answered: Answered) -> News {
        self.asking = false;
        match answered {
            Answered::Renewed { at, raised } => self.renewed(at, raised),
            Answered::Looked(Ok(beacon)) => {
                // A look may be behind: only a renewal tells for sure that somebody else is awake.
                if beacon.awake.is_none_or(|awake| awake.holder != self.holder) {
                    self.renew_at = Timestamp::default();
                }
                self.hear(beacon.knocks)
            }
            Answered::Looked(Err(error)) => {
                tracing::debug!(error = %Chain(&error), "the beacon could not be looked at");
                News::None
            }
        }
    }

    fn renewed(&mut self, at: Timestamp, raised: Result<Raised, StoreError>) -> News {
        match raised {
            Ok(Raised::Ours { knocks }) => {
                self.renew_at = at + self.shines / 3;
                self.look_at = at + LOOK;
                self.hear(knocks)
            }
            Ok(Raised::Theirs) => {
                self.up = false;
                News::Relieved
            }
            Err(error) => {
                tracing::debug!(error = %Chain(&error), "the beacon was not raised; it is tried again");
                self.look_at = at + LOOK;
                News::None
            }
        }
    }

    const fn hear(&mut self, knocks: u64) -> News {
        if knocks <= self.heard {
            return News::None;
        }
        self.heard = knocks;
        News::Knocked
    }

    fn awake(&self, now: Timestamp) -> Awake {
        Awake { holder: self.holder.clone(), until: now + self.shines, ends: self.ends }
    }
}
