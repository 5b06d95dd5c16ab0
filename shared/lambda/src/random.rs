//! The real random numbers.

use pudu_app::ports::Random;

/// The operating system's generator.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsRandom;

impl Random for OsRandom {
    fn fill(&self, bytes: &mut [u8]) {
        if let Err(error) = getrandom::fill(bytes) {
            // Ids that could be guessed, or nonces used twice, are worse than a process that stops.
            tracing::error!(%error, "the operating system gives no random bytes");
            std::process::abort();
        }
    }
}
