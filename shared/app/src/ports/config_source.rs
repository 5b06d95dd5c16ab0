//! Where the config is kept, whatever keeps it: the revisions in the table, or a file of the operator (DESIGN section 4).

use std::io;
use std::path::PathBuf;

use async_trait::async_trait;
use pudu_config::{Archived, Document, OpenError, Problem, SealError};

use super::{Author, Made, SealKeyError, StoreError};

/// A state of the config. Two are the same one or they are not; none is newer than another (reference 1.12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// For people: the revision in the table; of a file, how many states of it this process has seen. 0 when nothing was
    /// ever stored.
    pub number: u64,
    /// What else tells two states apart, such as the signature of a file.
    pub mark: String,
}

/// The config in force.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Which state this is.
    pub version: Version,
    /// The document with its secrets in the clear: never to be printed or answered.
    pub document: Document,
}

/// A config that once was in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    /// Its number, and how it came to be.
    pub made: Made,
    /// The document with its secrets in the clear: never to be printed or answered.
    pub document: Archived,
}

/// The config could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The table did not give or take it.
    #[error("the config could not be read from the table, or not written to it")]
    Store(#[from] StoreError),
    /// There is no key to open or seal it.
    #[error("the config could not be opened")]
    Key(#[from] SealKeyError),
    /// It could not be sealed.
    #[error("the config could not be sealed")]
    Seal(#[from] SealError),
    /// It does not open with the key, or would not be accepted today.
    #[error("revision {number} of the config could not be opened")]
    Open {
        /// Which revision.
        number: u64,
        /// Why.
        source: OpenError,
    },
    /// The pointer names a revision that is not there.
    #[error("revision {number} of the config is missing from the table")]
    Missing {
        /// Which revision.
        number: u64,
    },
    /// This source keeps nothing of the past.
    #[error(
        "the config is the file {}, which has no revisions here: its history is where the file is kept, such as under version control",
        path.display()
    )]
    NoHistory {
        /// The file.
        path: PathBuf,
    },
    /// The config file cannot be used.
    #[error("the config file {} cannot be {act}: check that it is there and may be used", path.display())]
    File {
        /// What was tried.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The config file holds no valid config. What was in force before stays so.
    #[error(
        "the config file {} is not valid: {}; repair it first",
        path.display(),
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong with it; never a value of it.
        problems: Vec<Problem>,
    },
}

/// A place that keeps one config.
#[async_trait]
pub trait ConfigSource: Send + Sync {
    /// Which config is in force. Cheap enough to be asked every second.
    async fn version(&self) -> Result<Version, ConfigError>;

    /// The config in force.
    async fn load(&self) -> Result<Loaded, ConfigError>;

    /// Makes `document` the config in force if `over` still is it; its version, or none when another came first. A source that
    /// has a history remembers the author.
    async fn replace(
        &self,
        over: &Version,
        document: &Document,
        author: Option<&Author>,
    ) -> Result<Option<Version>, ConfigError>;

    /// When and by whom the newest configs with a number below `before` were made, at most `limit`, newest first.
    /// Errors: [`ConfigError::NoHistory`].
    async fn history(&self, limit: usize, before: Option<u64>) -> Result<Vec<Made>, ConfigError>;

    /// The config of that number, which need not be valid today; none if there is no such number.
    /// Errors: [`ConfigError::NoHistory`].
    async fn past(&self, number: u64) -> Result<Option<Past>, ConfigError>;
}
