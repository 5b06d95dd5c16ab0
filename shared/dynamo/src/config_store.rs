//! The config's revisions and the pointer to the current one.

use std::cmp::Reverse;

use async_trait::async_trait;
use pudu_app::ports::{ConfigStore, Made, Moved, Revision, StoreError};

use crate::body::EncodeError;
use crate::item::parts::Rows;
use crate::item::revision;
use crate::key::Key;
use crate::retry::Answer;
use crate::table::Table;
use crate::write::{When, Write};

#[cfg(test)]
mod tests;

/// The revision's head among the elements of a move.
const HEAD: usize = 0;

#[async_trait]
impl ConfigStore for Table {
    async fn pointer(&self) -> Result<Option<u64>, StoreError> {
        let row = self.get("config_pointer", &Key::Pointer, true).await?;
        row.as_ref().map(revision::decode_pointer).transpose()
    }

    async fn revision(&self, number: u64) -> Result<Option<Revision>, StoreError> {
        const OPERATION: &str = "config_revision";
        let Some(row) = self.get(OPERATION, &Key::Revision(number), true).await? else { return Ok(None) };
        let head = revision::decode_head(&row)?;
        let part = |digest: &str, part| Key::RevisionPart { number, digest: digest.to_owned(), part };
        let packed = self.content(OPERATION, revision::PART, head, part).await?;
        revision::decode(&row, &packed).map(Some)
    }

    /// Numbers have no gaps, so the heads are read by their keys: a query would read the parts of large revisions too.
    async fn history(&self, limit: usize, before: Option<u64>) -> Result<Vec<Made>, StoreError> {
        const OPERATION: &str = "config_history";
        let newest = self.pointer().await?.unwrap_or(0);
        let newest = before.map_or(newest, |before| newest.min(before.saturating_sub(1)));
        let keys: Vec<Key> = (1..=newest).rev().take(limit).map(Key::Revision).collect();
        let rows = self.batch(OPERATION, &keys, true).await?;
        let mut made = rows.iter().map(revision::decode_made).collect::<Result<Vec<_>, _>>()?;
        made.sort_by_key(|made| Reverse(made.number));
        Ok(made)
    }

    async fn append(&self, revision: &Revision) -> Result<Moved, StoreError> {
        const OPERATION: &str = "append_revision";
        let mut nonce = [0; 8];
        self.random.fill(&mut nonce);
        let writer = hex::encode(nonce);
        let before = match revision.made.number.checked_sub(1) {
            None => return Err(EncodeError::RevisionZero.refused(OPERATION)),
            // The first pointer is put where there is none.
            Some(0) => When::Absent,
            Some(before) => When::Pointer(before),
        };
        let Rows { parts, head } =
            revision::encode(revision, &writer).map_err(|error| error.refused(OPERATION))?;
        for part in parts {
            self.write(OPERATION, &[Write::put(revision::PART, part, When::Always)]).await?;
        }
        let writes = [
            Write::put(revision::ITEM, head, When::Absent),
            Write::put("config pointer", revision::pointer(revision.made.number), before),
        ];
        match self.write(OPERATION, &writes).await? {
            Answer::Done(()) => Ok(Moved::Done),
            // The head is this very writer's: an earlier attempt was applied, whoever moved the pointer on since.
            Answer::Failed(failed) => match failed.row(HEAD) {
                Some(stored) if revision::is_by(stored, &writer) => Ok(Moved::Done),
                _ => Ok(Moved::Conflict),
            },
        }
    }
}
