//! What the config was: who made it so, and what that changed.

use pudu_config::{Archived, Difference, Document, differences};

use super::{ConfigError, Configs};
use crate::ports::{Made, Past};

impl Configs {
    /// When and by whom the newest configs with a number below `before` were made, at most `limit`, newest first.
    pub async fn revisions(&self, limit: usize, before: Option<u64>) -> Result<Vec<Made>, ConfigError> {
        self.source.history(limit, before).await
    }

    /// The config of that number, which need not be valid today.
    pub async fn revision(&self, number: u64) -> Result<Option<Past>, ConfigError> {
        self.source.past(number).await
    }

    /// What is different in `number` from `against`; number 0 is the empty config before the first. None if one of them was
    /// never stored.
    pub async fn differences(
        &self,
        number: u64,
        against: u64,
    ) -> Result<Option<Vec<Difference>>, ConfigError> {
        let Some(after) = self.document(number).await? else { return Ok(None) };
        let Some(before) = self.document(against).await? else { return Ok(None) };
        Ok(Some(differences(&before, &after)))
    }

    async fn document(&self, number: u64) -> Result<Option<Archived>, ConfigError> {
        let past = self.source.past(number).await?;
        Ok(match past {
            None if number == 0 => Some(Document::empty().into()),
            past => past.map(|past| past.document),
        })
    }
}
