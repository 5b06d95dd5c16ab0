//! What a run told: its numbers, its stream's end, and whether what was streamed is what stands.

use std::collections::{BTreeMap, BTreeSet};

use pudu_app::ports::{RecordQuery, RunStore};
use pudu_domain::Run;
use pudu_domain::chat::Speaker;
use pudu_domain::run::{Notice, Origin, Told};
use pudu_domain::state::State;
use pudu_testkit::sim::Backend;
use serde_json::Value;

use super::super::World;
use super::{Findings, NUMBERED, ONE_END, STREAMED, failed};

/// More than any run tells.
const ALL: usize = 100_000;

pub(super) async fn are_whole<B: Backend>(
    world: &World<B>,
    run: &Run,
    state: &State,
    found: &mut Findings,
) -> Result<(), String> {
    let store = world.witness.runs();
    let frames = store.frames(&run.key, 0, ALL).await.map_err(|error| failed(&error))?.told;
    numbers(store, run, &frames, found).await?;
    values(run, &frames, found);
    ends(run, &frames, found);
    // What a child says is told by its parent, as a step of its own kind.
    if run.checkpoints > 0 && run.origin == Origin::Lead {
        // What it began with stands in its first checkpoint, and was told by others.
        match world.witness.checkpoints().state(&run.key, 0).await {
            Ok(before) => stands(run, &before, state, &frames, found),
            Err(error) => found.add(super::WHOLE, format!("{} at 0: {}", run.key.id, failed(&error))),
        }
    }
    Ok(())
}

/// No number is missing, and none is there twice.
async fn numbers(
    store: &dyn RunStore,
    run: &Run,
    frames: &[Told],
    found: &mut Findings,
) -> Result<(), String> {
    let mut numbers: Vec<u64> = frames.iter().map(|told| told.seq).collect();
    // What a child does stands in its parent's history.
    if run.origin == Origin::Lead {
        let mut after = None;
        loop {
            let query =
                RecordQuery { ordinal: Some(run.ordinal), after, limit: 1000, ..RecordQuery::default() };
            let records = store.records(&run.key.thread, &query).await.map_err(|error| failed(&error))?;
            after = records.last().map(|last| (last.ordinal, last.seq));
            numbers.extend(records.iter().filter(|told| told.run == run.key).map(|told| told.seq));
            if records.len() < query.limit {
                break;
            }
        }
    }
    numbers.sort_unstable();
    let whole: Vec<u64> = (1..=run.told).collect();
    if numbers != whole {
        let there: BTreeSet<u64> = numbers.iter().copied().collect();
        let missing: Vec<u64> = whole.iter().copied().filter(|number| !there.contains(number)).collect();
        let count = (numbers.len(), run.told);
        found.add(NUMBERED, format!("{} told {count:?} things, missing are {missing:?}", run.key.id));
    }
    Ok(())
}

/// Each state that is told is a later one than the one before it.
fn values(run: &Run, frames: &[Told], found: &mut Findings) {
    let numbers = frames.iter().filter_map(|told| match told.notice {
        Notice::Values { number, .. } => Some(number),
        _ => None,
    });
    let numbers: Vec<u32> = numbers.collect();
    if !numbers.is_sorted_by(|one, next| one < next) {
        found.add(NUMBERED, format!("{} told the states {numbers:?}", run.key.id));
    }
}

/// The last frame is the end, and no other one is.
fn ends(run: &Run, frames: &[Told], found: &mut Findings) {
    let Some(end) = run.end() else { return };
    let told = frames.iter().filter_map(|told| match &told.notice {
        Notice::Frame { event, data } if event == "end" => Some((told.seq, data)),
        _ => None,
    });
    let told: Vec<(u64, &Value)> = told.collect();
    let last = frames.last().map(|told| told.seq);
    match &told[..] {
        [(seq, data)] if last == Some(*seq) && data["status"] == end.outcome.as_str() => {}
        _ => found
            .add(ONE_END, format!("{} ended {:?} and told {told:?} of {last:?}", run.key.id, end.outcome)),
    }
}

/// Whoever adds up what was streamed of an answer has the answer.
fn stands(run: &Run, before: &State, state: &State, frames: &[Told], found: &mut Findings) {
    let mut streamed: BTreeMap<&str, String> = BTreeMap::new();
    for told in frames {
        let Notice::Frame { event, data } = &told.notice else { continue };
        if event == "messages" {
            let (id, text) = (data[0]["id"].as_str(), data[0]["content"].as_str());
            streamed.entry(id.unwrap_or_default()).or_default().push_str(text.unwrap_or_default());
        }
    }
    let begun: BTreeSet<&str> = before.messages.iter().map(|message| message.id.as_str()).collect();
    let own = state.messages.iter().filter(|message| !begun.contains(message.id.as_str()));
    for message in own.filter(|message| message.speaker == Speaker::Ai) {
        let text = message.content.text();
        let told = streamed.get(message.id.as_str()).map_or("", String::as_str);
        // What a middleware adds behind an answer is in its brackets, and is shown with the next state.
        let rest = text.strip_prefix(told).map(str::trim_start);
        if !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('[')) {
            found.add(STREAMED, format!("{} says {text:?} in {}, told was {told:?}", run.key.id, message.id));
        }
    }
}
