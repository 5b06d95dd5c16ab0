//! What must hold of runs when everything has come to rest.

use std::collections::{BTreeMap, BTreeSet};

use pudu_app::ports::{RecordQuery, RunStore};
use pudu_domain::Run;
use pudu_domain::chat::Speaker;
use pudu_domain::run::Origin;

use super::Rough;

/// Every promise that was broken, as a sentence.
pub(super) async fn broken(world: &Rough) -> Vec<String> {
    let (stage, mut found) = (&world.stage, world.watching.seen());
    let store = stage.store();
    for conversation in stage.table.conversations() {
        if conversation.active.is_some() || !conversation.queue.is_empty() {
            found.push(format!("a conversation waits for ever: {conversation:?}"));
        }
    }
    for run in stage.table.runs() {
        let id = &run.key.id;
        if run.end().is_none() {
            found.push(format!("{id} does not end: {:?} {:?}", run.phase, run.durable));
        }
        if run.end().is_some() && store.secrets(&run.key).await.unwrap().is_some() {
            found.push(format!("{id} has ended and its secrets are still there"));
        }
        if run.durable.lease.is_some() || run.durable.due.is_some() {
            found.push(format!("{id} has ended and is still wanted: {:?}", run.durable));
        }
        numbers(&*store, &run, &mut found).await;
        messages(world, &run, &mut found).await;
    }
    found
}

/// No number of what a run tells is missing, and none is there twice.
async fn numbers(store: &dyn RunStore, run: &Run, found: &mut Vec<String>) {
    let frames = store.frames(&run.key, 0, 100_000).await.unwrap().told;
    let query = RecordQuery { ordinal: Some(run.ordinal), limit: 100_000, ..RecordQuery::default() };
    let records = match run.origin {
        Origin::Lead => store.records(&run.key.thread, &query).await.unwrap(),
        // What a child does stands in its parent's history.
        Origin::Child { .. } => Vec::new(),
    };
    let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
    for told in frames.iter().chain(&records).filter(|told| told.run == run.key) {
        *seen.entry(told.seq).or_default() += 1;
    }
    let twice: Vec<_> = seen.iter().filter(|(_, times)| **times > 1).map(|(seq, _)| seq).collect();
    let missing: Vec<_> = (1..=run.told).filter(|seq| !seen.contains_key(seq)).collect();
    let beyond = seen.keys().any(|seq| *seq > run.told);
    let whole = run.origin == Origin::Lead;
    if !twice.is_empty() || beyond || (whole && !missing.is_empty()) {
        found.push(format!(
            "{} told {} things: twice {twice:?}, missing {missing:?}, beyond {beyond}",
            run.key.id, run.told
        ));
    }
}

/// Nothing stands twice in a state, and each answer of a tool has its call.
async fn messages(world: &Rough, run: &Run, found: &mut Vec<String>) {
    let state = world.stage.state(&run.key).await;
    let (mut ids, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for message in &state.messages {
        if !ids.insert(&message.id) {
            found.push(format!("{} has the message {} twice", run.key.id, message.id));
        }
        if message.speaker == Speaker::Tool && !answered.insert(&message.tool_call_id) {
            found.push(format!("{} has two answers to the call {:?}", run.key.id, message.tool_call_id));
        }
    }
}
