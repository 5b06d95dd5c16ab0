//! Notifications in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{Committed, ItemKey, NoteKey, NoteStore, StoreError};
use pudu_domain::note::{Change, Keep, State};
use pudu_domain::task::Delivery;
use pudu_domain::{Event, Lane, Lease, Note};

use super::events::{Marker, is_kept};
use super::rows::{Claim, NoteRow, Rows, judged, kind_of, unreadable};
use super::{Attempt, FakeStore, Flaw, Wrote};

impl Rows {
    fn claim_note(
        &mut self,
        key: &NoteKey,
        lane: Lane,
        lease: Lease,
        attempt: Attempt,
    ) -> Result<Option<Note>, StoreError> {
        let Some(row) = self.notes.get(key) else { return Ok(None) };
        let before = row.note.durable.clone();
        let (kind, after) = match self.claim(&before, row.broken, lane, lease, attempt) {
            Claim::Refused => return Ok(None),
            Claim::WonBefore => return Ok(Some(row.note.clone())),
            Claim::Won(after) => (Wrote::Claim, after),
            Claim::Unreadable(after) => (Wrote::Corrupt, after),
        };
        let Some(row) = self.notes.get_mut(key) else { return Ok(None) };
        row.note.durable = after.clone();
        let note = row.note.clone();
        self.wrote(kind, ItemKey::Note(key.clone()), None, (Some(&before), &after), attempt.now);
        if kind == Wrote::Corrupt {
            return Err(unreadable("note", name(key)));
        }
        Ok(Some(note))
    }

    fn commit_note(&mut self, change: &Change, attempt: Attempt) -> Committed {
        let key = NoteKey::of(&change.note);
        let before = self.notes.get(&key).map(|row| row.note.durable.clone());
        let careless = change.deliver && self.has(Flaw::DeliversAgain);
        if !careless && !change.expect.holds(before.as_ref(), attempt.now) {
            return judged(&change.expect, before.as_ref(), attempt);
        }
        if let State::Delivered { at } = change.note.state
            && change.deliver
        {
            let by_event = change.note.delivery == Delivery::Event;
            let newest = self.notified.get(&key.task).copied().unwrap_or(0);
            if !careless && (by_event && newest >= key.version || self.delivered.contains(&key)) {
                return Committed::Lost;
            }
            let carried = change.note.carried.as_deref().cloned();
            let marker = Marker { key: key.clone(), delivered_at: at, carried, expires: change.expires };
            self.events.entry(key.task.thread.clone()).or_default().push(marker);
            self.delivered.insert(key.clone());
            if by_event {
                self.notified.insert(key.task.clone(), key.version);
            }
        }
        if let Some(body) = self.bodies.get_mut(&key) {
            match change.keep {
                Keep::AsItIs => {}
                Keep::Until(at) => body.expires = Some(at),
                Keep::Always => body.expires = None,
            }
        }
        let row = NoteRow { note: change.note.clone(), expires: change.expires, broken: false };
        self.notes.insert(key.clone(), row);
        let rows = (before.as_ref(), &change.note.durable);
        self.wrote(kind_of(&change.expect), ItemKey::Note(key), None, rows, attempt.now);
        Committed::Done
    }
}

fn name(key: &NoteKey) -> String {
    format!("{}#{}", key.task.id, key.version)
}

#[async_trait]
impl NoteStore for FakeStore {
    async fn claim(&self, key: &NoteKey, lane: Lane, lease: Lease) -> Result<Option<Note>, StoreError> {
        self.attempt("notes.claim", |rows, attempt| rows.claim_note(key, lane, lease.clone(), attempt)).await
    }

    async fn load(&self, key: &NoteKey) -> Result<Option<Note>, StoreError> {
        self.attempt("notes.load", |rows, attempt| {
            let row = rows.notes.get(key).filter(|row| is_kept(row.expires, Some(attempt.now)));
            match row {
                Some(row) if row.broken => Err(unreadable("note", name(key))),
                row => Ok(row.map(|row| row.note.clone())),
            }
        })
        .await
    }

    async fn event(&self, note: &Note) -> Result<Option<Event>, StoreError> {
        self.attempt("notes.event", |rows, attempt| {
            let body = rows.bodies.get(&NoteKey::of(note));
            let body = body.filter(|body| is_kept(body.expires, Some(attempt.now)));
            Ok(note.carried.as_deref().cloned().or(body.map(|body| body.event.clone())))
        })
        .await
    }

    async fn commit(&self, change: &Change) -> Result<Committed, StoreError> {
        self.attempt("notes.commit", |rows, attempt| Ok(rows.commit_note(change, attempt))).await
    }
}
