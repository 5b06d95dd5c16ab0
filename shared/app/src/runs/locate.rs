//! A run by its id alone, among those of one user.
//!
//! No row says in which thread a run is: it would be one more write for every run, for a question that is hardly ever asked. A
//! run's id says when it was made, and a conversation when it was made and last written; a run lies in between. So the user's
//! list is read from that time back, and the run is looked for only in conversations that fit: what a row
//! costs for each conversation that is passed, of which there are not many, and one read unit for each that fits. A run that made its
//! thread is found in the first page.

use std::time::Duration;

use futures_util::future::try_join_all;
use pudu_domain::{Conversation, RunId, RunKey, ThreadId, Timestamp, UserId};

use super::Runs;
use crate::ports::StoreError;

/// Most conversations that are passed: the question has the price of a few pages of a list, whoever asks it.
const LOOKED_AT: usize = 200;
/// Conversations of the first page; each page is twice the one before it.
const FIRST: usize = 4;
/// And of the largest.
const LARGEST: usize = 50;
/// Runs that are looked for side by side.
const AT_ONCE: usize = 16;
/// What the clocks of two functions may be apart.
const APART: Duration = Duration::from_secs(60);

impl Runs {
    /// The address of the run of that id, if it is one of the user's. Not further back than the
    /// `LOOKED_AT` newest conversations that were there when it was made: a run is always found by its thread.
    pub async fn locate(&self, user: &UserId, id: &RunId) -> Result<Option<RunKey>, StoreError> {
        let Some(made) = id.made_at() else { return Ok(None) };
        let Ok(last) = ThreadId::parse("z") else { return Ok(None) };
        let mut before = Some((made + APART, last));
        let (mut page, mut looked) = (FIRST, 0);
        while looked < LOOKED_AT {
            page = page.min(LOOKED_AT - looked);
            let found = self.store.conversations(user, page, before.as_ref()).await?;
            let is_last = found.len() < page;
            looked += found.len();
            before = found.last().map(|last| (last.created_at, last.thread.thread.clone()));
            let keys = found.into_iter().filter(|talk| may_have(talk, made));
            let keys: Vec<RunKey> = keys.map(|talk| RunKey { thread: talk.thread, id: id.clone() }).collect();
            for some in keys.chunks(AT_ONCE) {
                let rows = try_join_all(some.iter().map(|key| self.store.load(key))).await?;
                if let Some(run) = rows.into_iter().flatten().next() {
                    return Ok(Some(run.key));
                }
            }
            if is_last {
                break;
            }
            page = (page * 2).min(LARGEST);
        }
        Ok(None)
    }
}

/// Whether a run that was made then may be one of the conversation's.
fn may_have(talk: &Conversation, made: Timestamp) -> bool {
    talk.runs > 0 && talk.updated_at + APART >= made
}
