//! Which models there are, and what one of them is asked with (agent reference 1.2 and 8).

mod blame;
mod guard;

use std::sync::Arc;

use pudu_config::{EntryError, Model, Provider, ResolveError};
use secrecy::ExposeSecret;

use crate::ports::{Dialect, ModelEntry, ModelError, ModelFault, Vault};

pub use blame::Blaming;
pub use guard::Guarded;

/// The models of a config, the default one first. There is always one: without any configured it is the built-in script.
#[derive(Clone)]
pub struct Roster {
    first: Model,
    others: Vec<Model>,
    secrets: Arc<dyn Vault>,
}

/// A run wants a model that nobody has configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no model '{name}'; the models are {known}")]
pub struct UnknownModel {
    /// What was wanted.
    pub name: String,
    /// What there is, separated by commas.
    pub known: String,
}

/// A model for one call or a whole run, with what can be asked of it.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// How it is called.
    pub entry: ModelEntry,
    /// Tokens that fit into one call, if it is known.
    pub context_window: Option<u64>,
    /// Whether it thinks: it was wanted, and it can.
    pub thinks: bool,
    /// Whether it can look at pictures.
    pub sees: bool,
    takes_effort: bool,
}

/// A model as everybody may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownModel {
    /// Its name, by which runs choose it.
    pub name: String,
    /// The provider's id of it.
    pub model: String,
    /// What people see.
    pub display_name: String,
    /// For people only.
    pub description: Option<String>,
    /// Whether it can think before it answers.
    pub supports_thinking: bool,
    /// Whether it takes how hard it is to think.
    pub supports_reasoning_effort: bool,
}

impl Roster {
    /// The roster of a config's models.
    pub fn new(models: &[Model], secrets: Arc<dyn Vault>) -> Self {
        let (first, others) = match models.split_first() {
            Some((first, others)) => (first.clone(), others.to_vec()),
            None => (Model::scripted(), Vec::new()),
        };
        Self { first, others, secrets }
    }

    /// All of them, the default one first.
    pub fn models(&self) -> impl Iterator<Item = &Model> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The model of that name.
    pub fn find(&self, name: &str) -> Option<&Model> {
        self.models().find(|model| model.name == name)
    }

    /// Whether a run may want that model; none is the default one. For whoever admits runs.
    pub fn check(&self, name: Option<&str>) -> Result<(), UnknownModel> {
        let Some(name) = name.filter(|name| self.find(name).is_none()) else { return Ok(()) };
        let known = self.models().map(|model| model.name.as_str()).collect::<Vec<_>>().join(", ");
        Err(UnknownModel { name: name.to_owned(), known })
    }

    /// The model of that name, or the default one: a model that was taken away must not strand a thread that was made with it.
    /// Fails if a variable of its entry has no value, or if it does not say where it is and has to.
    pub fn choose(&self, name: Option<&str>, thinking: bool) -> Result<Chosen, ModelError> {
        let model = name.and_then(|name| {
            let found = self.find(name);
            if found.is_none() {
                tracing::warn!(model = name, "there is no such model; the default one is used");
            }
            found
        });
        let model = model.unwrap_or(&self.first);
        let thinks = thinking && model.supports_thinking;
        let entry = self.entry(model, thinks).map_err(|error| uncallable(model, &error))?;
        Ok(Chosen {
            entry,
            context_window: model.context_window,
            thinks,
            sees: model.supports_vision,
            takes_effort: model.supports_reasoning_effort,
        })
    }

    /// All of them, as everybody may see them.
    pub fn shown(&self) -> Vec<ShownModel> {
        let shown = |model: &Model| ShownModel {
            name: model.name.clone(),
            model: model.model.clone(),
            display_name: model.display_name.clone(),
            description: model.description.clone(),
            supports_thinking: model.supports_thinking,
            supports_reasoning_effort: model.supports_reasoning_effort,
        };
        self.models().map(shown).collect()
    }

    fn entry(&self, model: &Model, thinks: bool) -> Result<ModelEntry, EntryError> {
        let resolved = model.resolve(self.secrets.as_ref())?;
        let passed_on = model.request_extras(thinks, self.secrets.as_ref())?;
        Ok(ModelEntry {
            base_url: resolved.base_url.map(|url| url.expose_secret().to_owned()),
            api_key: resolved.api_key,
            headers: resolved.headers,
            max_tokens: model.max_tokens,
            temperature: model.temperature,
            timeout: model.request_timeout,
            chunk_timeout: model.chunk_timeout,
            retries: model.max_retries,
            at_once: model.at_once,
            caches: model.prompt_caching,
            extra: passed_on.fields,
            variables: passed_on.variables,
            ..ModelEntry::new(&*model.name, &*model.model, dialect(model.provider))
        })
    }
}

impl Chosen {
    /// How hard it is to think, if that can be said to it.
    pub fn effort(&self, wanted: Option<&str>) -> Option<String> {
        wanted.filter(|_| self.takes_effort).map(str::to_owned)
    }
}

const fn dialect(provider: Provider) -> Dialect {
    match provider {
        Provider::OpenAi => Dialect::OpenAi,
        Provider::Anthropic => Dialect::Anthropic,
        Provider::Bedrock => Dialect::Bedrock,
        Provider::Scripted => Dialect::Scripted,
    }
}

fn uncallable(model: &Model, error: &EntryError) -> ModelError {
    // What could not be read may be there in a moment; what is not set is not.
    let fault = match error {
        EntryError::Unresolved(ResolveError::Unread { .. }) => ModelFault::Transient,
        EntryError::Unresolved(_) => ModelFault::Auth,
        EntryError::NoAddress { .. } => ModelFault::Other,
    };
    ModelError { model: model.name.clone(), fault, message: error.to_string(), retry_after: None }
}

#[cfg(test)]
mod tests;
