//! One entry of `models` (agent reference 8), read once beside its raw JSON: which model, where, and how it is asked.

mod address;
mod alias;
mod provider;
mod read;
mod request;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use self::address::Address;
use crate::setting::{Setting, collect_references};

pub(crate) use address::NAMES as ADDRESSES;
pub use provider::Provider;
pub(crate) use read::{HEADERS, read_models, with_variables};
pub use request::{EntryError, PassedOn, ResolvedModel};

/// The key of the list in a config.
pub(crate) const MODELS: &str = "models";
/// How long a whole call may take, unless it is said otherwise.
pub const REQUEST_TIMEOUT: Duration = Duration::from_mins(10);
/// How long a stream may be silent, unless it is said otherwise.
pub const CHUNK_TIMEOUT: Duration = Duration::from_mins(4);
/// How often a call is tried again, unless it is said otherwise: three attempts (agent reference 1.5).
pub const MAX_RETRIES: u32 = 2;
/// Most retries that a config may ask for: each of them is waited for and may be paid for.
pub const MOST_RETRIES: u32 = 10;
/// Most calls of one model at a time that a config may allow; 0 is no limit. Each place is in one row, which is written twice a
/// call.
pub const MOST_AT_ONCE: u32 = 200;

/// A configured model.
#[derive(Clone)]
pub struct Model {
    /// Its unique name, by which runs choose it.
    pub name: String,
    /// What people see; the name if nothing else is said.
    pub display_name: String,
    /// For people only.
    pub description: Option<String>,
    /// How it is spoken with.
    pub provider: Provider,
    /// The provider's id of it.
    pub model: String,
    /// The credential. Without one nothing is sent, which a server of one's own may be content with.
    pub api_key: Option<Setting>,
    /// Most tokens of an answer.
    pub max_tokens: Option<u32>,
    /// How much chance is in an answer.
    pub temperature: Option<f64>,
    /// How long a whole call may take. Default 600 s.
    pub request_timeout: Duration,
    /// How long a stream may be silent. Default 240 s.
    pub chunk_timeout: Duration,
    /// How often a failed call is tried again. Default 2.
    pub max_retries: u32,
    /// Most calls of it at a time, over all processes; none is no limit.
    pub at_once: Option<u32>,
    /// Tokens that fit into one call.
    pub context_window: Option<u64>,
    /// Whether it can think before it answers.
    pub supports_thinking: bool,
    /// Whether it can look at pictures.
    pub supports_vision: bool,
    /// Whether it takes how hard it is to think.
    pub supports_reasoning_effort: bool,
    /// Whether its provider is asked to keep what calls begin with, where one has to ask; none is as its dialect does.
    pub prompt_caching: Option<bool>,
    /// What its tokens cost.
    pub pricing: Option<Pricing>,
    address: Address,
    when_thinking: Map<String, Value>,
    when_not_thinking: Option<Map<String, Value>>,
    headers: Vec<(String, Setting)>,
    extra: Map<String, Value>,
}

/// What a million tokens cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Pricing {
    /// Such as `USD`.
    pub currency: String,
    /// Read by the model.
    pub input_per_million: f64,
    /// Written by it.
    pub output_per_million: f64,
    /// Read by it from its cache; as any other input if nothing is said.
    pub input_cache_hit_per_million: Option<f64>,
}

impl Model {
    /// The built-in script, which stands in when no model is configured.
    pub fn scripted() -> Self {
        Self {
            name: "scripted".to_owned(),
            display_name: "Built-in scripted model".to_owned(),
            description: Some(
                "No language model: a script of this program, for trying things out without a key. Configure one under `models`."
                    .to_owned(),
            ),
            provider: Provider::Scripted,
            model: "scripted".to_owned(),
            api_key: None,
            max_tokens: None,
            temperature: None,
            request_timeout: REQUEST_TIMEOUT,
            chunk_timeout: CHUNK_TIMEOUT,
            max_retries: MAX_RETRIES,
            at_once: None,
            context_window: None,
            supports_thinking: false,
            supports_vision: false,
            supports_reasoning_effort: false,
            prompt_caching: None,
            pricing: None,
            address: Address::Home,
            when_thinking: Map::new(),
            when_not_thinking: None,
            headers: Vec::new(),
            extra: Map::new(),
        }
    }

    /// The names of the variables that it refers to.
    pub fn references(&self) -> BTreeSet<String> {
        let headers = self.headers.iter().map(|(_, value)| value);
        let settings = self.api_key.iter().chain(self.address.setting()).chain(headers);
        let mut names: BTreeSet<String> =
            settings.filter_map(Setting::reference).map(str::to_owned).collect();
        for extra in [Some(&self.extra), Some(&self.when_thinking), self.when_not_thinking.as_ref()] {
            extra.into_iter().flat_map(Map::values).for_each(|value| collect_references(value, &mut names));
        }
        names
    }
}

impl fmt::Debug for Model {
    // By hand: what is passed on may hold literal secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("name", &self.name)
            .field("provider", &self.provider)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
