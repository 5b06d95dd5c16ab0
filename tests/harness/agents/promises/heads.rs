//! Where a conversation stands: what ended well is in it, and no child of it began twice.

use std::collections::BTreeMap;

use pudu_app::ports::RunStore;
use pudu_domain::conversation::Head;
use pudu_domain::run::Origin;
use pudu_domain::{Conversation, Run, RunKey};

use super::{Findings, SAID_ONCE, Seen, WHOLE, failed, is_well};

/// Each run of the conversation that ended well is where it stands, or on the way there. By the way and not by the clock, and
/// not by the order in which runs were wanted: clocks differ, and one that replaces another is ahead of those that wait.
pub(super) async fn are_kept(store: &dyn RunStore, seen: &Seen, found: &mut Findings) -> Result<(), String> {
    for conversation in &seen.conversations {
        let way = way(store, conversation).await?;
        let own = seen.runs.iter().filter(|run| run.key.thread == conversation.thread);
        let well = own.filter(|run| run.origin == Origin::Lead && is_well(run));
        for head in well.filter_map(Run::head).filter(|head| !way.contains(head)) {
            let stands = &conversation.head;
            found.add(WHOLE, format!("{head:?} ended well, and the conversation stands at {stands:?}"));
        }
    }
    Ok(())
}

/// Where a conversation stood behind each of the runs that it is made of, the last one first.
async fn way(store: &dyn RunStore, conversation: &Conversation) -> Result<Vec<Head>, String> {
    let (mut way, mut next) = (Vec::new(), conversation.head.clone());
    while let Some(head) = next.filter(|head| !way.contains(head)) {
        let first =
            store.checkpoints(&RunKey { thread: conversation.thread.clone(), id: head.run.clone() }, 0).await;
        let first = first.map_err(|error| failed(&error))?;
        way.push(head);
        next = first.first().and_then(|first| first.parent.clone());
    }
    Ok(way)
}

/// No call of a run began two children.
pub(super) fn begin_once(seen: &Seen, found: &mut Findings) {
    let mut begun = BTreeMap::new();
    for run in &seen.runs {
        if let Origin::Child { parent, call } = &run.origin
            && let Some(other) = begun.insert((&run.key.thread, parent, call), &run.key.id)
        {
            found.add(SAID_ONCE, format!("the call {call} of {parent} began {other} and {}", run.key.id));
        }
    }
}
