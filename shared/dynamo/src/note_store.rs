//! Notifications in the table.

use async_trait::async_trait;
use pudu_app::ports::{Committed, NoteKey, NoteStore, StoreError};
use pudu_domain::note::{Change, State};
use pudu_domain::{Lane, Lease, Note};

use crate::body::EncodeError;
use crate::durable_row::{Claim, judge};
use crate::item::{event, note};
use crate::key::{Key, shard_of};
use crate::retry::Answer;
use crate::table::Table;
use crate::write::{When, Write};

#[cfg(test)]
mod tests;

/// The note itself among the elements of a delivery.
const NOTE: usize = 0;

/// Everything that becomes true together.
fn plan(change: &Change) -> Result<Vec<Write>, EncodeError> {
    let row = note::encode(&change.note)?;
    let mut writes = vec![Write::put(note::ITEM, row, When::Expect(change.expect.clone()))];
    if let (true, State::Delivered { at }) = (change.deliver, change.note.state) {
        let key = note::key_of(&change.note);
        writes.push(Write::put(event::ITEM, event::encode(&key, at, &change.note.event)?, When::Absent));
        let notified = event::notified(&key.task, key.version);
        writes.push(Write::put("delivered version", notified, When::Below(key.version)));
    }
    Ok(writes)
}

#[async_trait]
impl NoteStore for Table {
    async fn claim(&self, key: &NoteKey, lane: Lane, lease: Lease) -> Result<Option<Note>, StoreError> {
        self.claim_row(Claim {
            operation: "claim_note",
            key: Key::Note(key.clone()),
            shard: shard_of(&key.task.id),
            lane,
            lease,
            decode: note::decode,
        })
        .await
    }

    async fn load(&self, key: &NoteKey) -> Result<Option<Note>, StoreError> {
        self.get("load_note", &Key::Note(key.clone()), true).await?.as_ref().map(note::decode).transpose()
    }

    async fn commit(&self, change: &Change) -> Result<Committed, StoreError> {
        const OPERATION: &str = "commit_note";
        let writes = plan(change).map_err(|error| error.refused(OPERATION))?;
        match self.write(OPERATION, &writes).await? {
            Answer::Done(()) => Ok(Committed::Done),
            Answer::Failed(failed) if failed.is_failed(NOTE) => {
                judge(note::ITEM, &change.expect, NOTE, &failed)
            }
            // The note is still ours, but this event, or a newer one, was delivered.
            Answer::Failed(_) => Ok(Committed::Lost),
        }
    }
}
