//! Notifications in the table.

use async_trait::async_trait;
use pudu_app::ports::{Committed, NoteKey, NoteStore, StoreError};
use pudu_domain::note::{Change, Keep, State};
use pudu_domain::task::Delivery;
use pudu_domain::{Event, Lane, Lease, Note};

use crate::body::EncodeError;
use crate::durable_row::{Claim, judge};
use crate::item::event::{self, Marker};
use crate::item::{news, note};
use crate::key::{Key, shard_of};
use crate::retry::Answer;
use crate::row::{end_of, number};
use crate::schema::TTL;
use crate::table::Table;
use crate::write::{Update, When, Write};

#[cfg(test)]
mod tests;

/// The note itself among the elements of a commit.
const NOTE: usize = 0;

/// Everything that becomes true together.
fn plan(change: &Change) -> Result<Vec<Write>, EncodeError> {
    let row = note::encode(&change.note, change.expires)?;
    let mut writes = vec![Write::put(note::ITEM, row, When::Expect(change.expect.clone()))];
    if let (true, State::Delivered { at }) = (change.deliver, &change.note.state) {
        let key = NoteKey::of(&change.note);
        let carried = change.note.carried.as_deref().cloned();
        let marker = Marker { key: key.clone(), delivered_at: *at, carried };
        writes.push(Write::put(event::ITEM, event::encode(&marker, change.expires)?, When::Absent));
        // What a run has told is told, in whatever order the ends of runs are noticed.
        if change.note.delivery == Delivery::Event {
            let notified = event::notified(&key.task, key.version, change.expires);
            writes.push(Write::put("delivered version", notified, When::Below(key.version)));
        }
    }
    Ok(writes)
}

/// What happens to the event's own row, if anything does.
fn kept(change: &Change) -> Option<Write> {
    if change.note.carried.is_some() {
        return None;
    }
    let (set, values) = match change.keep {
        Keep::AsItIs => return None,
        Keep::Always => ("REMOVE #ttl", vec![]),
        Keep::Until(at) => ("SET #ttl = :ttl", vec![(":ttl", number(end_of(at)))]),
    };
    let key = Key::Body(NoteKey::of(&change.note));
    Some(Write::Update(Update { key, set, names: vec![TTL], values, when: When::Present }))
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

    async fn event(&self, note: &Note) -> Result<Option<Event>, StoreError> {
        if let Some(carried) = &note.carried {
            return Ok(Some(Event::clone(carried)));
        }
        let row = self.get("load_event", &Key::Body(NoteKey::of(note)), true).await?;
        Ok(row.as_ref().map(news::decode).transpose()?.map(|(_, event)| event))
    }

    async fn commit(&self, change: &Change) -> Result<Committed, StoreError> {
        const OPERATION: &str = "commit_note";
        let mut writes = plan(change).map_err(|error| error.refused(OPERATION))?;
        let others = writes.len();
        writes.extend(kept(change));
        let mut answer = self.write(OPERATION, &writes).await?;
        // An event that has left before its note cannot be kept longer; the note changes all the same.
        if let Answer::Failed(failed) = &answer
            && (0..others).all(|element| !failed.is_failed(element))
            && failed.is_failed(others)
        {
            writes.truncate(others);
            answer = self.write(OPERATION, &writes).await?;
        }
        match answer {
            Answer::Done(()) => Ok(Committed::Done),
            Answer::Failed(failed) if failed.is_failed(NOTE) => {
                judge(note::ITEM, &change.expect, NOTE, &failed)
            }
            // The note is still ours, but this event, or a newer one, was delivered.
            Answer::Failed(_) => Ok(Committed::Lost),
        }
    }
}
