//! Named factories of interceptors, in place of the reference's `module:attr`: what can run is decided when the program
//! is built, and a config can only choose from it.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pudu_app::chain::Chain;
use pudu_app::ports::Random;
use tokio::time::Instant;

use super::{Interceptor, TraceContext};

/// How long a factory that failed, or a name that nobody has, is left alone; calls go on without it.
const AGAIN_AFTER: Duration = Duration::from_secs(60);
/// Most names that are remembered as unusable: they come from the config, which is not ours.
const MAX_REMEMBERED: usize = 1_000;

/// Why a factory made nothing.
pub type FactoryError = Box<dyn Error + Send + Sync>;

type Factory = Box<dyn Fn() -> Result<Option<Arc<dyn Interceptor>>, FactoryError> + Send + Sync>;

/// The interceptors that `mcpInterceptors` can name. Each is made once per process, when a call first needs it.
#[derive(Default)]
pub struct Interceptors {
    factories: BTreeMap<String, Factory>,
    made: Mutex<HashMap<String, Made>>,
}

enum Made {
    Ready(Arc<dyn Interceptor>),
    /// The factory does not want to take part.
    Absent,
    Unusable {
        until: Instant,
    },
}

impl Interceptors {
    /// What comes with Pudu: [`TraceContext`] as `trace-context`.
    pub fn shipped(random: Arc<dyn Random>) -> Self {
        Self::default().with(TraceContext::NAME, move || {
            let made: Arc<dyn Interceptor> = Arc::new(TraceContext::new(Arc::clone(&random)));
            Ok(Some(made))
        })
    }

    /// With one more under `name`; of two with one name the last counts. A factory that returns none is passed over in
    /// silence; one that fails is logged, asked again after a minute, and calls go on without it.
    #[must_use]
    pub fn with(
        mut self,
        name: impl Into<String>,
        factory: impl Fn() -> Result<Option<Arc<dyn Interceptor>>, FactoryError> + Send + Sync + 'static,
    ) -> Self {
        self.factories.insert(name.into(), Box::new(factory));
        self
    }

    /// The interceptors of these names, in their order. What cannot be had is left out.
    pub(crate) fn named(&self, names: &[String]) -> Vec<Arc<dyn Interceptor>> {
        if names.is_empty() {
            return Vec::new();
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        names.iter().filter_map(|name| self.one(name, &mut made)).collect()
    }

    fn one(&self, name: &str, made: &mut HashMap<String, Made>) -> Option<Arc<dyn Interceptor>> {
        match made.get(name) {
            Some(Made::Ready(interceptor)) => return Some(Arc::clone(interceptor)),
            Some(Made::Absent) => return None,
            Some(Made::Unusable { until }) if Instant::now() < *until => return None,
            Some(Made::Unusable { .. }) | None => {}
        }
        let (outcome, ready) = match self.factories.get(name).map(|factory| factory()) {
            Some(Ok(Some(interceptor))) => (Made::Ready(Arc::clone(&interceptor)), Some(interceptor)),
            Some(Ok(None)) => (Made::Absent, None),
            Some(Err(error)) => {
                let error = Chain(error.as_ref()).to_string();
                tracing::warn!(interceptor = name, %error, "an interceptor could not be made; calls go on without it");
                (Made::Unusable { until: Instant::now() + AGAIN_AFTER }, None)
            }
            None => {
                let known: Vec<&str> = self.factories.keys().map(String::as_str).collect();
                tracing::warn!(
                    interceptor = name,
                    known = known.join(", "),
                    "'mcpInterceptors' names an interceptor that is not there; calls go on without it"
                );
                (Made::Unusable { until: Instant::now() + AGAIN_AFTER }, None)
            }
        };
        if made.len() >= MAX_REMEMBERED {
            made.retain(|_, there| matches!(there, Made::Ready(_)));
        }
        made.insert(name.to_owned(), outcome);
        ready
    }
}
