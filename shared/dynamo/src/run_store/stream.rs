//! What runs told, read again: frames of one run in order, with what has left noticed; records of a thread, either way.

use pudu_app::ports::{Record, RecordQuery, StoreError, ToldPage};
use pudu_domain::{RunKey, ThreadKey};

use crate::item::run;
use crate::item::telling::{Frames, decode_frames, decode_records};
use crate::key::{AFTER_DIGITS, Key, RECORDS, thread_pk};
use crate::range::Range;
use crate::table::Table;

const FRAMES: &str = "load_frames";
const LIST: &str = "list_records";

impl Table {
    pub(super) async fn frames_after(
        &self,
        run: &RunKey,
        after: u64,
        limit: usize,
    ) -> Result<ToldPage, StoreError> {
        let rows = self.frame_rows(run, after, limit).await?;
        // Most readers go on exactly where a row begins.
        if rows.first().is_some_and(|row| row.first == after.saturating_add(1)) {
            return Ok(page(after, rows, limit));
        }
        let behind = self.frames_behind(run, after).await?;
        let known = after == 0 || behind.as_ref().is_some_and(|row| row.last >= after);
        let mut rows: Vec<Frames> = behind.into_iter().chain(rows).collect();
        let nothing_new = rows.last().is_none_or(|row| row.last <= after);
        if nothing_new && (after == 0 || !known) {
            // It told nothing yet, or what it told has gone. Whoever tells writes both rows at once.
            let told = match self.get(FRAMES, &Key::Run(run.clone()), true).await? {
                None => 0,
                Some(row) => run::decode(&row)?.told,
            };
            if told <= after {
                return Ok(ToldPage::default());
            }
            rows = self.frame_rows(run, after, limit).await?;
            if rows.is_empty() {
                return Ok(ToldPage { told: Vec::new(), gap: true });
            }
        }
        Ok(page(after, rows, limit))
    }

    /// Rows that begin after that number, enough for `limit` frames.
    async fn frame_rows(&self, run: &RunKey, after: u64, limit: usize) -> Result<Vec<Frames>, StoreError> {
        let first = Key::Frames(run.clone(), after.saturating_add(1)).sk();
        let last = format!("{}{AFTER_DIGITS}", frames_prefix(run));
        let mut range = Range::new(FRAMES, thread_pk(&run.thread), first, last);
        let (mut rows, mut frames) = (Vec::new(), 0);
        while frames < limit {
            let Some(page) = range.page(self, limit).await? else { break };
            for row in &page {
                let row = decode_frames(row)?;
                frames += row.told.len();
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// The row that begins last at or before that number.
    async fn frames_behind(&self, run: &RunKey, after: u64) -> Result<Option<Frames>, StoreError> {
        let last = Key::Frames(run.clone(), after).sk();
        let mut range = Range::new(FRAMES, thread_pk(&run.thread), frames_prefix(run), last).newest_first();
        let rows = range.page(self, 1).await?.unwrap_or_default();
        rows.first().map(decode_frames).transpose()
    }

    pub(super) async fn records_of(
        &self,
        thread: &ThreadKey,
        query: &RecordQuery,
    ) -> Result<Vec<Record>, StoreError> {
        let key = |(ordinal, seq)| Key::Record { thread: thread.clone(), ordinal, seq }.sk();
        let (mut first, mut last) = match query.ordinal {
            None => (RECORDS.to_owned(), format!("{RECORDS}{AFTER_DIGITS}")),
            Some(ordinal) => {
                let run = format!("{RECORDS}{ordinal:08}#");
                (run.clone(), format!("{run}{AFTER_DIGITS}"))
            }
        };
        if let Some(before) = query.before {
            last = last.min(key(before));
        }
        if let Some(after) = query.after {
            // The row in which that record stands may hold others behind it.
            let mut behind =
                Range::new(LIST, thread_pk(thread), RECORDS.to_owned(), key(after)).newest_first();
            let row = behind.page(self, 1).await?.unwrap_or_default().into_iter().next();
            let at = row
                .as_ref()
                .map(decode_records)
                .transpose()?
                .and_then(|records| records.first().map(|record| key((record.ordinal, record.seq))));
            first = first.max(at.unwrap_or_else(|| key(after)));
        }
        let newest_first = query.newest_first || query.before.is_some();
        let range = Range::new(LIST, thread_pk(thread), first, last);
        let mut range = if newest_first { range.newest_first() } else { range };
        let mut found = Vec::new();
        while found.len() < query.limit {
            let Some(rows) = range.page(self, query.limit).await? else { break };
            for row in &rows {
                let mut records = decode_records(row)?;
                records.retain(|record| is_wanted(record, query));
                if newest_first {
                    records.reverse();
                }
                found.extend(records);
            }
        }
        found.truncate(query.limit);
        Ok(found)
    }
}

fn frames_prefix(run: &RunKey) -> String {
    let first = Key::Frames(run.clone(), 0).sk();
    first.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned()
}

/// At most `limit` frames behind that number, and whether a number between the rows is in none of them.
fn page(after: u64, rows: Vec<Frames>, limit: usize) -> ToldPage {
    let mut page = ToldPage::default();
    let mut expected = after.saturating_add(1);
    for row in rows {
        if row.last <= after || page.told.len() >= limit {
            continue;
        }
        page.gap |= row.first > expected;
        expected = row.last.saturating_add(1);
        page.told.extend(row.told.into_iter().filter(|told| told.seq > after));
    }
    page.told.truncate(limit);
    page
}

fn is_wanted(record: &Record, query: &RecordQuery) -> bool {
    let place = (record.ordinal, record.seq);
    query.before.is_none_or(|before| place < before) && query.after.is_none_or(|after| place > after)
}
