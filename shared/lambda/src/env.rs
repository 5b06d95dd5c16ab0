//! The environment, read through a trait that a map also implements; nothing else in the project reads it.

use std::collections::BTreeMap;

/// Where settings come from.
pub trait Source: Send + Sync {
    /// The value of `name`; none when it is not set, empty, or not text.
    fn get(&self, name: &str) -> Option<String>;
}

/// The process's own environment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Process;

impl Source for Process {
    #[expect(clippy::disallowed_methods, reason = "this is the one reader of the environment")]
    fn get(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }
}

impl Source for BTreeMap<&str, &str> {
    fn get(&self, name: &str) -> Option<String> {
        BTreeMap::get(self, name).filter(|value| !value.is_empty()).map(|value| (*value).to_owned())
    }
}
