//! What `$VAR` in the config stands for on one machine: the environment. It is here and not beside the other adapters, so
//! that no cloud function can take its own environment for a source of secrets.

use std::collections::BTreeSet;

use async_trait::async_trait;
use pudu_app::ports::Vault;
use pudu_config::Secrets;
use pudu_lambda::env::{Process, Source};
use secrecy::SecretString;

/// The environment of this process. Reserved names never get here: `pudu_config` refuses them before it asks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EnvSecrets;

impl Secrets for EnvSecrets {
    fn get(&self, name: &str) -> Option<SecretString> {
        Process.get(name).map(SecretString::from)
    }
}

#[async_trait]
impl Vault for EnvSecrets {
    async fn warm(&self, _names: &BTreeSet<String>) {}
}
