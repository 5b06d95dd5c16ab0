//! The operator's config file as the source of the config (reference 1.11, 1.12, 10).
//!
//! It is found by a fixed order ([`find`]), watched by its content and never by its time alone, and written whole or not
//! at all. What was in force stays so while the file is broken or gone.

mod search;
mod signature;
mod source;
mod write;

pub use search::{FILE_NAMES, SearchError, find};
pub use source::FileSource;

#[cfg(test)]
mod tests;
