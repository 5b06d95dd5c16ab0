//! Values of variables that a test sets, behind a source that can be out of reach.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pudu_app::ports::Vault;
use pudu_config::Secrets;
use secrecy::SecretString;

use crate::lock::lock;

/// A vault; clones are the same one. What it was not asked to read it does not know.
#[derive(Debug, Clone, Default)]
pub struct FakeVault(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    values: BTreeMap<String, String>,
    known: BTreeMap<String, Option<String>>,
    asked: Vec<BTreeSet<String>>,
    down: bool,
}

impl FakeVault {
    /// Sets a variable at the source.
    pub fn set(&self, name: &str, value: &str) {
        lock(&self.0).values.insert(name.to_owned(), value.to_owned());
    }

    /// Takes the source out of reach, or back.
    pub fn down(&self, down: bool) {
        lock(&self.0).down = down;
    }

    /// What it was asked to read since the last look, each time.
    pub fn asked(&self) -> Vec<BTreeSet<String>> {
        mem::take(&mut lock(&self.0).asked)
    }
}

impl Secrets for FakeVault {
    fn get(&self, name: &str) -> Option<SecretString> {
        lock(&self.0).known.get(name).cloned().flatten().map(SecretString::from)
    }

    fn is_known(&self, name: &str) -> bool {
        lock(&self.0).known.contains_key(name)
    }
}

#[async_trait]
impl Vault for FakeVault {
    async fn warm(&self, names: &BTreeSet<String>) {
        let mut state = lock(&self.0);
        state.asked.push(names.clone());
        if !state.down {
            let read = names.iter().map(|name| (name.clone(), state.values.get(name).cloned())).collect();
            state.known = read;
        }
    }
}
