//! What `$VAR` in the config stands for, on one machine: the environment. In the cloud a function's own environment is
//! never a source of secrets, so there nothing resolves until parameters under a prefix are read (the MCP access issue).

use pudu_config::Secrets;
use secrecy::SecretString;

use crate::env::{Process, Source};

/// The environment of this process. Reserved names never get here: `pudu_config` refuses them before it asks.
#[derive(Debug, Clone, Copy, Default)]
pub struct EnvSecrets;

impl Secrets for EnvSecrets {
    fn get(&self, name: &str) -> Option<SecretString> {
        Process.get(name).map(SecretString::from)
    }
}
