//! Specs that cannot change any more, kept by a warm worker so that an unchanged poll reads nothing.
//!
//! A spec is written at birth and once more with the remote handle; from then on it is immutable, so a copy can never be
//! stale. Only such specs are kept.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pudu_domain::{TaskKey, TaskSpec};

#[cfg(test)]
mod tests;

/// Specs in one generation; there are two. About 1 KB each with ordinary driver data.
const GENERATION: usize = 2048;

/// A bounded cache. Two generations instead of a list in order of use: when the young one is full, the old one is
/// forgotten whole; what is used moves to the young one.
#[derive(Debug, Default)]
pub(crate) struct SpecCache(Mutex<Generations>);

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<TaskKey, TaskSpec>,
    old: HashMap<TaskKey, TaskSpec>,
}

impl SpecCache {
    pub(crate) fn get(&self, key: &TaskKey) -> Option<TaskSpec> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(spec) = all.young.get(key) {
            return Some(spec.clone());
        }
        let spec = all.old.remove(key)?;
        all.insert(key.clone(), spec.clone());
        Some(spec)
    }

    /// Keeps `spec` if it is immutable.
    pub(crate) fn keep(&self, key: &TaskKey, spec: &TaskSpec) {
        if spec.remote.is_some() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), spec.clone());
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let all = self.0.lock().unwrap();
        all.young.len() + all.old.len()
    }
}

impl Generations {
    fn insert(&mut self, key: TaskKey, spec: TaskSpec) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, spec);
    }
}
