//! Where the values of `$VAR` are kept, when reading them takes a request: the environment on one machine, parameters
//! under one prefix in the cloud.

use std::collections::BTreeSet;

use async_trait::async_trait;
use pudu_config::{NoSecrets, Secrets};

/// A [`Secrets`] that reads ahead. The view stays synchronous, because a setting is resolved in the middle of pure code; a
/// view that could ask would make all of that code wait.
#[async_trait]
pub trait Vault: Secrets {
    /// Reads what `names` stand for, unless it is known and fresh; afterwards the view has it. Cheap when nothing is to be
    /// read, so it may come before every use.
    ///
    /// A failure is not an error here: it is logged, what was known stays known, and of what was not the view says so
    /// ([`Secrets::is_known`]). One source that is down must not hide the servers that need nothing of it.
    async fn warm(&self, names: &BTreeSet<String>);
}

#[async_trait]
impl Vault for NoSecrets {
    async fn warm(&self, _names: &BTreeSet<String>) {}
}
