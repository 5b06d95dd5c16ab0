//! The one HTTP client of models' endpoints, with the house's egress rule: whoever composes a process hands in both.

use std::fmt;
use std::sync::Arc;

use url::Url;

/// Judges a URL; the text says why it is refused, and holds no part of it.
type Permits = Arc<dyn Fn(&Url) -> Result<(), String> + Send + Sync>;

/// An HTTP client and its rule.
#[derive(Clone)]
pub struct Http {
    pub(crate) client: reqwest::Client,
    permits: Permits,
}

impl Http {
    /// `client` must follow no redirect and retry nothing, and judge every address that it connects to; `permits` judges each
    /// URL, whose host may be an address that nobody resolves.
    pub fn new(
        client: reqwest::Client,
        permits: impl Fn(&Url) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { client, permits: Arc::new(permits) }
    }

    pub(crate) fn permits(&self, url: &Url) -> Result<(), String> {
        (self.permits)(url)
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Http")
    }
}
