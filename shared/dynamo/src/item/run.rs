//! The hot row of a run. It is written with every step.

use std::collections::BTreeSet;

use pudu_app::ports::StoreError;
use pudu_domain::run::{End, Origin, Outcome, Phase, Run, StopReason, Totals};
use pudu_domain::text::Snippet;
use pudu_domain::{Generation, RunId, RunKey};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::durable;
use crate::body::{self, EncodeError};
use crate::key::{Key, shard_of_run};
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "run";

const PHASE: &str = "st";
/// The children that it waits for.
const OPEN: &str = "op";
const ENDED_AT: &str = "at";
const STOP_REASON: &str = "sr";
const ERROR: &str = "er";
const PARENT: &str = "pr";
/// By which of its parent's calls it was begun.
const CALL: &str = "pc";
/// Where it stands, of a run that is neither the thread's own nor a child: [`ASIDE`].
const ORIGIN: &str = "og";
const ASIDE: &str = "aside";
const ORDINAL: &str = "on";
const CHECKPOINTS: &str = "cp";
const TOLD: &str = "tl";
const CHILDREN: &str = "ch";
const PROGRESSED: &str = "pg";
const UNTIL: &str = "un";
const TOTALS: &str = "tt";
const UPDATED_AT: &str = "ut";

/// The row of `run`.
pub(crate) fn encode(run: &Run) -> Result<Row, EncodeError> {
    let writer = Writer::new(&Key::Run(run.key.clone()))
        .text(PHASE, phase_word(&run.phase))
        .number(ORDINAL, run.ordinal)
        .number(CHECKPOINTS, run.checkpoints)
        .number(TOLD, run.told)
        .number(CHILDREN, run.children)
        .number(PROGRESSED, run.progressed.number())
        .maybe(run.until, |w, at| w.time(UNTIL, at))
        .value(TOTALS, body::encode(ITEM, &run.totals)?)
        .time(attr::CREATED_AT, run.created_at)
        .time(UPDATED_AT, run.updated_at);
    let writer = match &run.phase {
        Phase::Queued | Phase::Pending | Phase::Running => writer,
        Phase::Parked { open } => writer.value(OPEN, body::encode(ITEM, open)?),
        Phase::Ended(end) => writer
            .time(ENDED_AT, end.at)
            .maybe(end.stop_reason, |w, reason| w.text(STOP_REASON, reason.as_str()))
            .maybe(end.error.as_ref(), |w, error| w.text(ERROR, error.as_str())),
    };
    let writer = match &run.origin {
        Origin::Lead => writer,
        Origin::Child { parent, call } => writer.text(PARENT, parent.as_str()).text(CALL, call),
        Origin::Aside => writer.text(ORIGIN, ASIDE),
    };
    Ok(durable::encode_in(writer, &run.durable, shard_of_run(&run.key.id)).row())
}

/// The run in `row`.
pub(crate) fn decode(row: &Row) -> Result<Run, StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let Key::Run(key) = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of a run"));
    };
    let origin = match reader.text_maybe(PARENT)? {
        None if reader.has(ORIGIN) => {
            reader.parsed(ORIGIN, |text| (text == ASIDE).then_some(Origin::Aside))?
        }
        None => Origin::Lead,
        Some(_) => Origin::Child {
            parent: reader.parsed(PARENT, |text| RunId::parse(text).ok())?,
            call: reader.text(CALL)?.to_owned(),
        },
    };
    Ok(Run {
        key,
        origin,
        ordinal: reader.number(ORDINAL)?,
        phase: phase(reader)?,
        durable: durable::decode(reader)?,
        checkpoints: reader.number(CHECKPOINTS)?,
        told: reader.number(TOLD)?,
        children: reader.number(CHILDREN)?,
        progressed: Generation::new(reader.number(PROGRESSED)?),
        until: reader.time_maybe(UNTIL)?,
        totals: body::decode::<Totals>(reader, TOTALS)?,
        created_at: reader.time(attr::CREATED_AT)?,
        updated_at: reader.time(UPDATED_AT)?,
    })
}

/// The run whose hot row a stored pk and sk name.
pub(crate) fn key_of(reader: Reader<'_>, pk: &'static str, sk: &'static str) -> Result<RunKey, StoreError> {
    match Key::parse(reader.text(pk)?, reader.text(sk)?) {
        Some(Key::Run(key)) => Ok(key),
        _ => Err(reader.corrupt(sk, "is not the key of a run")),
    }
}

/// One of the words that a type of the domain has.
pub(crate) fn word<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_value(Value::String(text.to_owned())).ok()
}

const fn phase_word(phase: &Phase) -> &'static str {
    match phase {
        Phase::Queued => "queued",
        Phase::Pending => "pending",
        Phase::Running => "running",
        Phase::Parked { .. } => "parked",
        Phase::Ended(end) => end.outcome.as_str(),
    }
}

fn phase(reader: Reader<'_>) -> Result<Phase, StoreError> {
    Ok(match reader.text(PHASE)? {
        "queued" => Phase::Queued,
        "pending" => Phase::Pending,
        "running" => Phase::Running,
        "parked" => Phase::Parked { open: body::decode::<BTreeSet<RunId>>(reader, OPEN)? },
        _ => Phase::Ended(End {
            outcome: reader.parsed(PHASE, word::<Outcome>)?,
            stop_reason: match reader.text_maybe(STOP_REASON)? {
                None => None,
                Some(_) => Some(reader.parsed(STOP_REASON, word::<StopReason>)?),
            },
            error: reader.text_maybe(ERROR)?.map(Snippet::of),
            at: reader.time(ENDED_AT)?,
        }),
    })
}
