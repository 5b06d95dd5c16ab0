//! What runs tell: the frames of one write in one row, its records in another.
//!
//! Few rows and not one for each: in a transaction every row costs two write units, and a step tells several small things. A row
//! of frames says which numbers of its run it stands for, records among them, so that rows which follow each other leave no
//! number out and a reader sees when one has gone.

use pudu_app::ports::{FRAMES_KEPT, StoreError};
use pudu_domain::run::{Notice, Told};
use pudu_domain::{RunId, RunKey, Timestamp};
use serde::{Deserialize, Serialize};

use crate::body::{self, EncodeError, MAX_BODY_BYTES};
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const FRAMES: &str = "frames of a run";
pub(crate) const RECORDS: &str = "records of a run";

const RUN: &str = "run";
const ORDINAL: &str = "on";
/// The last number that a row of frames stands for.
const LAST: &str = "last";
const BODY: &str = "body";

/// One thing that was told, without what its row says.
#[derive(Serialize, Deserialize)]
struct Line(u64, Timestamp, Notice);

/// A row of frames.
#[derive(Debug, PartialEq)]
pub(crate) struct Frames {
    /// The first number that it stands for.
    pub(crate) first: u64,
    /// The last.
    pub(crate) last: u64,
    /// The frames among them.
    pub(crate) told: Vec<Told>,
}

/// The rows of what one write tells, each with what it is: for every run its frames, then its records.
pub(crate) fn encode(told: &[Told], kept_until: Timestamp) -> Result<Vec<(&'static str, Row)>, EncodeError> {
    let mut rows = Vec::new();
    let mut runs: Vec<&RunKey> = Vec::new();
    for one in told {
        if !runs.contains(&&one.run) {
            runs.push(&one.run);
        }
    }
    for run in runs {
        let mine: Vec<&Told> = told.iter().filter(|one| one.run == *run).collect();
        let (records, frames): (Vec<&Told>, Vec<&Told>) = mine.iter().partition(|one| is_record(one));
        rows.extend(frame_rows(run, &mine, &frames)?);
        for part in parts(RECORDS, &records)? {
            rows.extend(record_row(run, &part, kept_until)?);
        }
    }
    Ok(rows)
}

fn is_record(told: &Told) -> bool {
    matches!(told.notice, Notice::Record { .. })
}

fn frame_rows(
    run: &RunKey,
    all: &[&Told],
    frames: &[&Told],
) -> Result<Vec<(&'static str, Row)>, EncodeError> {
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return Ok(Vec::new()) };
    let mut parts = parts(FRAMES, frames)?;
    if parts.is_empty() {
        parts.push(Vec::new());
    }
    let begins: Vec<u64> = parts.iter().map(|part| part.first().map_or(first.seq, |one| one.seq)).collect();
    let mut rows = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        // The first part stands for what comes before its first frame, each for what comes before the next one's.
        let begin = if at == 0 { first.seq } else { begins.get(at).copied().unwrap_or(first.seq) };
        let end = begins.get(at + 1).map_or(last.seq, |next| next - 1);
        let row = Writer::new(&Key::Frames(run.clone(), begin))
            .number(ORDINAL, first.ordinal)
            .number(LAST, end)
            .value(BODY, body::encode(FRAMES, &lines(part))?)
            .ends(first.at + FRAMES_KEPT)
            .row();
        rows.push((FRAMES, row));
    }
    Ok(rows)
}

fn record_row(
    run: &RunKey,
    part: &[&Told],
    kept_until: Timestamp,
) -> Result<Option<(&'static str, Row)>, EncodeError> {
    let Some(first) = part.first() else { return Ok(None) };
    let key = Key::Record { thread: run.thread.clone(), ordinal: first.ordinal, seq: first.seq };
    let row = Writer::new(&key)
        .text(RUN, run.id.as_str())
        .value(BODY, body::encode(RECORDS, &lines(part))?)
        .ends(kept_until)
        .row();
    Ok(Some((RECORDS, row)))
}

fn lines(part: &[&Told]) -> Vec<Line> {
    part.iter().map(|one| Line(one.seq, one.at, one.notice.clone())).collect()
}

/// In parts that fit a row as they are; what does not fit alone is a part of its own, and is deflated.
fn parts<'a>(item: &'static str, told: &[&'a Told]) -> Result<Vec<Vec<&'a Told>>, EncodeError> {
    let (mut parts, mut part, mut size): (Vec<Vec<&Told>>, Vec<&Told>, usize) = (Vec::new(), Vec::new(), 2);
    for one in told {
        let json = serde_json::to_string(&one.notice).map_err(|source| EncodeError::Json { item, source })?;
        // A number, a time, brackets and commas.
        let more = json.len() + 64;
        if size + more > MAX_BODY_BYTES && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
            size = 2;
        }
        size += more;
        part.push(*one);
    }
    if !part.is_empty() {
        parts.push(part);
    }
    Ok(parts)
}

/// The frames in `row`.
pub(crate) fn decode_frames(row: &Row) -> Result<Frames, StoreError> {
    let reader = Reader::new(FRAMES, row)?;
    let Key::Frames(run, first) = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of frames"));
    };
    let told = told(reader, &run, reader.number(ORDINAL)?)?;
    Ok(Frames { first, last: reader.number(LAST)?, told })
}

/// The records in `row`, in order.
pub(crate) fn decode_records(row: &Row) -> Result<Vec<Told>, StoreError> {
    let reader = Reader::new(RECORDS, row)?;
    let Key::Record { thread, ordinal, .. } = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of records"));
    };
    let id = reader.parsed(RUN, |text| RunId::parse(text).ok())?;
    told(reader, &RunKey { thread, id }, ordinal)
}

fn told(reader: Reader<'_>, run: &RunKey, ordinal: u32) -> Result<Vec<Told>, StoreError> {
    let lines: Vec<Line> = body::decode(reader, BODY)?;
    let told =
        lines.into_iter().map(|Line(seq, at, notice)| Told { run: run.clone(), ordinal, seq, at, notice });
    Ok(told.collect())
}
