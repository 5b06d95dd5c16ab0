//! The file behind the port of the config's sources.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use pudu_app::chain::Chain;
use pudu_app::ports::{Author, ConfigError, ConfigSource, Loaded, Made, Past, Version};
use pudu_config::{Document, Problem, parse_text, repeated_keys};
use tokio::sync::Mutex as AsyncMutex;

use super::signature::{self, Signature};
use super::write::{self, Steps};

/// A config file. Every use looks at the file again, so whoever asks sees a change at once.
#[derive(Clone)]
pub struct FileSource(Arc<Inner>);

struct Inner {
    path: PathBuf,
    steps: Steps,
    /// Held for the whole of a reading or writing. Writers, this process's own too, take turns by the lock file.
    state: Mutex<State>,
    /// Of this process, one writer at a time waits for the lock file: each that waits there takes a thread from the readers.
    writers: AsyncMutex<()>,
}

#[derive(Default)]
struct State {
    /// What is in force.
    good: Option<Arc<Good>>,
    /// How many states of the file were in force.
    number: u64,
    /// What was last said about a file that is not taken; it is said once.
    said: Option<String>,
}

struct Good {
    signature: Signature,
    loaded: Loaded,
}

impl FileSource {
    /// The source in the file at `path`. Nothing is read yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::with_steps(path, Steps::default())
    }

    /// The same with other steps of writing.
    pub(super) fn with_steps(path: impl Into<PathBuf>, steps: Steps) -> Self {
        Self(Arc::new(Inner {
            path: path.into(),
            steps,
            state: Mutex::default(),
            writers: AsyncMutex::default(),
        }))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Does what blocks where it may. It goes on when its caller is gone, so a write never ends half-way.
    async fn blocking<T: Send + 'static>(
        &self,
        act: &'static str,
        work: impl FnOnce(&Inner) -> Result<T, ConfigError> + Send + 'static,
    ) -> Result<T, ConfigError> {
        let inner = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || work(&inner)).await;
        done.map_err(|error| self.0.failed(act)(io::Error::other(error)))?
    }
}

#[async_trait]
impl ConfigSource for FileSource {
    async fn version(&self) -> Result<Version, ConfigError> {
        self.blocking("read", |inner| Ok(inner.in_force()?.loaded.version.clone())).await
    }

    async fn load(&self) -> Result<Loaded, ConfigError> {
        self.blocking("read", |inner| Ok(inner.in_force()?.loaded.clone())).await
    }

    /// The author is in the audit alone: a file has no place for one.
    async fn replace(
        &self,
        over: &Version,
        document: &Document,
        _author: Option<&Author>,
    ) -> Result<Option<Version>, ConfigError> {
        let (over, document) = (over.clone(), document.clone());
        let _turn = self.0.writers.lock().await;
        self.blocking("written", move |inner| inner.replace(&over, document)).await
    }

    async fn history(&self, _limit: usize, _before: Option<u64>) -> Result<Vec<Made>, ConfigError> {
        Err(self.0.no_history())
    }

    async fn past(&self, _number: u64) -> Result<Option<Past>, ConfigError> {
        Err(self.0.no_history())
    }
}

impl Inner {
    fn in_force(&self) -> Result<Arc<Good>, ConfigError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = match signature::read(&self.path) {
            Ok((signature, bytes)) => {
                if let Some(good) = state.good.as_ref().filter(|good| good.signature == signature) {
                    let good = Arc::clone(good);
                    state.said = None;
                    return Ok(good);
                }
                match self.parse(&bytes) {
                    Ok(document) => {
                        warn(&repeated_keys(&bytes));
                        return Ok(state.take(signature, document));
                    }
                    Err(fault) => fault,
                }
            }
            Err(source) => self.failed("read")(source),
        };
        let Some(good) = state.good.clone() else { return Err(fault) };
        let text = Chain(&fault).to_string();
        if state.said.as_ref() != Some(&text) {
            tracing::warn!(error = %text, "the config file is not taken; the last good config stays in force");
            state.said = Some(text);
        }
        Ok(good)
    }

    fn replace(&self, over: &Version, document: Document) -> Result<Option<Version>, ConfigError> {
        let failed = self.failed("written");
        let target = write::target(&self.path).map_err(&failed)?;
        // Before the state: whoever only reads does not wait for what another process does with the lock.
        let _lock = write::lock(&target).map_err(&failed)?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let known = state.good.as_ref().filter(|good| good.loaded.version == *over);
        match signature::read(&target) {
            Ok((signature, _)) if known.is_some_and(|good| good.signature == signature) => {}
            Ok((_, bytes)) => {
                // Somebody's edit came first: one that is valid is merged with; one that is not is not lost either.
                self.parse(&bytes)?;
                return Ok(None);
            }
            // A file that was deleted is made again from what is in force.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if known.is_none() {
                    return Ok(None);
                }
            }
            Err(error) => return Err(failed(error)),
        }
        let text = document.expose_text();
        let written = write::replace(&target, text.as_bytes(), self.steps).map_err(failed)?;
        let good = state.take(Signature::of(text.as_bytes(), &written), document);
        Ok(Some(good.loaded.version.clone()))
    }

    fn parse(&self, bytes: &[u8]) -> Result<Document, ConfigError> {
        let invalid = |problems: Vec<Problem>| ConfigError::Invalid { path: self.path.clone(), problems };
        let raw = parse_text(bytes).map_err(|problem| invalid(vec![problem]))?;
        Document::parse(raw).map_err(invalid)
    }

    fn no_history(&self) -> ConfigError {
        ConfigError::NoHistory { path: self.path.clone() }
    }

    fn failed(&self, act: &'static str) -> impl Fn(io::Error) -> ConfigError {
        move |source| ConfigError::File { act, path: self.path.clone(), source }
    }
}

impl State {
    /// From now on `document` is in force.
    fn take(&mut self, signature: Signature, document: Document) -> Arc<Good> {
        warn(document.warnings());
        self.number += 1;
        let version = Version { number: self.number, mark: signature.mark() };
        let good = Arc::new(Good { signature, loaded: Loaded { version, document } });
        self.said = None;
        self.good = Some(Arc::clone(&good));
        good
    }
}

fn warn(warnings: &[Problem]) {
    for warning in warnings {
        tracing::warn!(problem = %warning, "the config file says what is used in another way than written");
    }
}
