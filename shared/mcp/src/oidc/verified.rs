//! Tokens that were found good a moment ago: a client shows the same one with every call, and a signature costs more than
//! all the rest of letting it in.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pudu_app::oidc::Good;
use pudu_domain::{Principal, Timestamp};
use sha2::{Digest, Sha256};

/// For how long: roles are cached no longer anywhere (DESIGN section 4).
pub(super) const KEPT: Duration = Duration::from_secs(1);
/// Most tokens.
const MOST: usize = 1024;

/// By digest: a credential stays in memory no longer than its request.
#[derive(Default)]
pub(super) struct Verified(Mutex<HashMap<[u8; 32], Entry>>);

struct Entry {
    good: Good,
    at: Timestamp,
}

impl Entry {
    fn holds(&self, now: Timestamp) -> bool {
        now.is_within(KEPT, self.at) && now < self.good.until
    }
}

impl Verified {
    pub(super) fn get(&self, token: &str, now: Timestamp) -> Option<Principal> {
        let digest: [u8; 32] = Sha256::digest(token).into();
        let entries = self.lock();
        entries.get(&digest).filter(|entry| entry.holds(now)).map(|entry| entry.good.principal.clone())
    }

    pub(super) fn keep(&self, token: &str, good: &Good, now: Timestamp) {
        let mut entries = self.lock();
        if entries.len() >= MOST {
            entries.retain(|_, entry| entry.holds(now));
        }
        // More good ones within a second than that are verified each time.
        if entries.len() < MOST {
            entries.insert(Sha256::digest(token).into(), Entry { good: good.clone(), at: now });
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Entry>> {
        // Each writer leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
