//! What `$VAR` stands for in the cloud: parameters under one prefix of SSM Parameter Store, read by name and kept for a
//! minute. Nothing else is ever a source: not the function's environment, and no parameter that the config does not name.
//!
//! An outage keeps what was read last. What was never read is told apart from what is not set, so that a server is not
//! blamed for it.

mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use aws_config::SdkConfig;
use pudu_app::chain::Chain;
use pudu_app::ports::{Clock, Vault};
use pudu_config::{NoSecrets, Secrets};
use pudu_domain::Timestamp;
use secrecy::SecretString;
use tokio::sync::Mutex;

use crate::settings::{ParameterPrefix, Settings};
use read::Reader;

/// How long a value is taken as it is: a rotated parameter is used after that.
const FRESH_FOR: Duration = Duration::from_secs(60);
/// How long the store is not asked again for a name that it did not give.
const REST: Duration = Duration::from_secs(10);

/// The parameters that the settings name.
pub fn from_settings(settings: &Settings, aws: &SdkConfig, clock: Arc<dyn Clock>) -> Arc<dyn Vault> {
    match &settings.parameters {
        Some(prefix) => Arc::new(ParameterVault::new(aws, prefix.clone(), clock)),
        None => Arc::new(NoSecrets),
    }
}

/// Reads parameters under one prefix.
pub struct ParameterVault {
    reader: Reader,
    clock: Arc<dyn Clock>,
    /// What was read, by variable.
    known: RwLock<Known>,
    /// Held by who reads: what two need at the same time is read once.
    reading: Mutex<()>,
}

#[derive(Default)]
struct Known {
    values: BTreeMap<String, Value>,
    /// Names that were not given, and until when they are left alone.
    resting: BTreeMap<String, Timestamp>,
}

/// What a variable stands for, and since when that is known.
struct Value {
    /// None when there is no such parameter.
    value: Option<SecretString>,
    read: Timestamp,
}

impl ParameterVault {
    /// The parameters under `prefix`. Asks for nothing until it is warmed.
    pub fn new(aws: &SdkConfig, prefix: ParameterPrefix, clock: Arc<dyn Clock>) -> Self {
        Self { reader: Reader::new(aws, prefix), clock, known: RwLock::default(), reading: Mutex::default() }
    }

    fn with_known<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The names that must be read, and whether one of them was never read.
    fn due(&self, names: &BTreeSet<String>, now: Timestamp) -> (Vec<String>, bool) {
        self.with_known(|known| {
            let stale = |name: &&String| {
                let value = known.values.get(*name);
                value.is_none_or(|value| !now.is_within(FRESH_FOR, value.read))
            };
            let awake = |name: &&String| {
                known.resting.get(*name).is_none_or(|until| *until <= now || *until > now + REST)
            };
            let due: Vec<String> = names.iter().filter(stale).filter(awake).cloned().collect();
            let missing = due.iter().any(|name| !known.values.contains_key(name));
            (due, missing)
        })
    }

    async fn refresh(&self, names: &BTreeSet<String>) {
        // Again, now that nobody else reads: another caller may have brought it meanwhile.
        let (due, _) = self.due(names, self.clock.now());
        if due.is_empty() {
            return;
        }
        let outcome = self.reader.read(due).await;
        let read = self.clock.now();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // What the config no longer names has no business in memory. What was read just now stays: this caller's config may
        // be the older one.
        known.values.retain(|name, value| names.contains(name) || read.is_within(FRESH_FOR, value.read));
        known.resting.retain(|_, until| *until > read);
        known.values.extend(outcome.values.into_iter().map(|(name, value)| (name, Value { value, read })));
        for failure in outcome.failures {
            known.resting.extend(failure.names.iter().map(|name| (name.clone(), read + REST)));
            let missing = failure.names.iter().filter(|name| !known.values.contains_key(*name)).count();
            tracing::warn!(
                variables = ?failure.names, without_value = missing, error = %Chain(&failure),
                "variables could not be read; what was known of them is used"
            );
        }
    }
}

impl Secrets for ParameterVault {
    fn get(&self, name: &str) -> Option<SecretString> {
        self.with_known(|known| known.values.get(name).and_then(|value| value.value.clone()))
    }

    fn is_known(&self, name: &str) -> bool {
        self.with_known(|known| known.values.contains_key(name))
    }
}

#[async_trait]
impl Vault for ParameterVault {
    async fn warm(&self, names: &BTreeSet<String>) {
        let (due, missing) = self.due(names, self.clock.now());
        if due.is_empty() {
            return;
        }
        // Who has a value goes on with it while somebody else reads a newer one; who has none waits.
        let reading = if missing { Some(self.reading.lock().await) } else { self.reading.try_lock().ok() };
        if reading.is_some() {
            self.refresh(names).await;
        }
    }
}
