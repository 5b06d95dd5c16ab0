//! What readers see of runs in the fake table.

use pudu_app::ports::{Record, RecordQuery, StoreError, ToldPage};
use pudu_domain::run::{Body, Checkpoint, Origin};
use pudu_domain::{Conversation, Run, RunId, RunKey, RunSpec, ThreadId, ThreadKey, Timestamp, UserId};

use super::{RunRow, Runs};
use crate::table::rows::unreadable;

impl Runs {
    /// The row, unless its time is over.
    fn seen(&self, key: &RunKey, now: Timestamp) -> Option<&RunRow> {
        self.rows.get(key).filter(|row| row.expires.is_none_or(|at| at >= now))
    }

    pub(super) fn readable(&self, key: &RunKey, now: Timestamp) -> Result<Option<Run>, StoreError> {
        match self.seen(key, now) {
            Some(row) if row.broken => Err(unreadable("run", key.id.to_string())),
            row => Ok(row.map(|row| row.run.clone())),
        }
    }

    pub(super) fn spec(&self, key: &RunKey, now: Timestamp) -> Option<RunSpec> {
        self.seen(key, now).and_then(|_| self.specs.get(key).cloned())
    }

    pub(super) fn secrets(&self, key: &RunKey, now: Timestamp) -> Option<String> {
        self.secrets.get(key).filter(|(_, until)| *until >= now).map(|(secrets, _)| secrets.clone())
    }

    pub(super) fn by_key(&self, user: &UserId, digest: &str, now: Timestamp) -> Option<(RunKey, String)> {
        let keyed = self.keys.get(&(user.clone(), digest.to_owned())).filter(|keyed| keyed.until >= now)?;
        Some((keyed.run.clone(), keyed.request.clone()))
    }

    pub(super) fn history(&self, run: &RunKey, number: u32, limit: usize) -> Vec<Checkpoint> {
        let chain = self.checkpoints.range((run.clone(), 0)..=(run.clone(), number)).rev();
        chain.take(limit).map(|(_, checkpoint)| checkpoint.clone()).collect()
    }

    pub(super) fn chain(&self, run: &RunKey, number: u32) -> Vec<Checkpoint> {
        let mut chain = Vec::new();
        for checkpoint in self.history(run, number, usize::MAX) {
            let whole = matches!(checkpoint.body, Body::Snapshot(_) | Body::Blob { snapshot: true, .. });
            chain.push(checkpoint);
            if whole {
                break;
            }
        }
        if chain.first().is_none_or(|newest| newest.number != number) {
            return Vec::new();
        }
        chain.reverse();
        chain
    }

    pub(super) fn frames(&self, run: &RunKey, after: u64, limit: usize, now: Timestamp) -> ToldPage {
        let asked = self.frames.range((run.clone(), after.saturating_add(1))..=(run.clone(), u64::MAX));
        let mut page = ToldPage::default();
        for (_, (told, until)) in asked {
            if *until < now {
                page.gap = true;
            } else if page.told.len() < limit {
                page.told.push(told.clone());
            }
        }
        page
    }

    pub(super) fn records(&self, thread: &ThreadKey, query: &RecordQuery, now: Timestamp) -> Vec<Record> {
        let wanted = |told: &Record| {
            let place = (told.ordinal, told.seq);
            query.ordinal.is_none_or(|ordinal| ordinal == told.ordinal)
                && query.before.is_none_or(|before| place < before)
                && query.after.is_none_or(|after| place > after)
        };
        let all = self
            .records
            .iter()
            .filter(|((of, _, _), (told, until))| of == thread && *until >= now && wanted(told));
        let mut records: Vec<Record> = all.map(|(_, (told, _))| told.clone()).collect();
        if query.newest_first || query.before.is_some() {
            records.reverse();
        }
        records.truncate(query.limit);
        records
    }

    pub(super) fn newest(
        &self,
        thread: &ThreadKey,
        limit: usize,
        before: Option<&RunId>,
        now: Timestamp,
    ) -> Vec<(Run, RunSpec)> {
        let mine = self.rows.keys().rev().filter(|key| key.thread == *thread);
        let older = mine.filter(|key| before.is_none_or(|before| key.id < *before));
        let readable = older.filter_map(|key| self.seen(key, now).filter(|row| !row.broken));
        let leads = readable.filter(|row| row.run.origin == Origin::Lead);
        let pairs = leads.filter_map(|row| Some((row.run.clone(), self.specs.get(&row.run.key)?.clone())));
        pairs.take(limit).collect()
    }

    pub(super) fn of_user(
        &self,
        user: &UserId,
        limit: usize,
        before: Option<&(Timestamp, ThreadId)>,
    ) -> Vec<Conversation> {
        let mine = self.conversations.values().filter(|conversation| conversation.thread.user == *user);
        let place =
            |conversation: &Conversation| (conversation.created_at, conversation.thread.thread.clone());
        let older = mine.filter(|conversation| before.is_none_or(|before| place(conversation) < *before));
        let mut found: Vec<&Conversation> = older.collect();
        found.sort_by_key(|conversation| (conversation.created_at, &conversation.thread));
        found.into_iter().rev().take(limit).cloned().collect()
    }
}
