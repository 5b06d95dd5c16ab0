//! Waiting for a run to end, by looking.

use std::time::Duration;

use pudu_domain::{Run, RunKey};

use super::Runs;
use crate::ports::StoreError;

/// The first pause between two looks; it doubles up to [`LONGEST`].
const SHORTEST: Duration = Duration::from_millis(100);
/// The longest.
const LONGEST: Duration = Duration::from_secs(1);

impl Runs {
    /// The run when it has ended, or as it is after `patience`. None if there is no such run (any more).
    pub async fn wait(&self, key: &RunKey, patience: Duration) -> Result<Option<Run>, StoreError> {
        let until = self.clock.now() + patience;
        let mut pause = SHORTEST;
        loop {
            let Some(run) = self.store.load(key).await? else { return Ok(None) };
            let left = until.since(self.clock.now());
            if run.end().is_some() || left.is_zero() {
                return Ok(Some(run));
            }
            self.clock.sleep(pause.min(left)).await;
            pause = (pause * 2).min(LONGEST);
        }
    }
}
