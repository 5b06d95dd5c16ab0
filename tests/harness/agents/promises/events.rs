//! What became of the events of durable tasks: told once, and only where a run that tells one has ended well.

use pudu_app::ports::RunStore;
use pudu_domain::note::State;
use pudu_domain::task::Delivery;
use pudu_domain::{IdempotencyKey, Note};

use super::{EVENTS_END, Findings, Seen, TOLD_BY_RUN, failed, is_well};

/// The events that runs told.
pub(super) fn told(notes: &[Note]) -> impl Iterator<Item = &Note> {
    let by_run = notes.iter().filter(|note| note.delivery == Delivery::Run);
    by_run.filter(|note| matches!(note.state, State::Delivered { .. }))
}

pub(super) async fn are_told(store: &dyn RunStore, seen: &Seen, found: &mut Findings) -> Result<(), String> {
    for note in &seen.table.notes {
        let what = format!("{} v{}", note.task.id, note.version);
        if matches!(note.state, State::Pending | State::Dispatched { .. }) {
            found.add(EVENTS_END, format!("{what} is {}", note.state.as_str()));
            continue;
        }
        let shown = seen.table.delivered.get(&note.task.thread).into_iter().flatten();
        let shown = shown.filter(|told| told.event.task_id == note.task.id && told.version == note.version);
        let (shown, delivered) = (shown.count(), matches!(note.state, State::Delivered { .. }));
        if shown != usize::from(delivered) {
            found.add(TOLD_BY_RUN, format!("{what} is {} and shows {shown} times", note.state.as_str()));
        }
        if note.delivery == Delivery::Event {
            continue;
        }
        let well = succeeded(store, note).await?;
        // A launch whose answer was lost may have begun a run that nobody knows of before the event was ended for another reason.
        if well > 1 || delivered && well != 1 {
            found.add(TOLD_BY_RUN, format!("{what} is {} and {well} runs told it", note.state.as_str()));
        }
    }
    Ok(())
}

/// How many of the runs that were begun for a note have ended well.
async fn succeeded(store: &dyn RunStore, note: &Note) -> Result<usize, String> {
    let mut well = 0;
    for dispatch in 0..=note.dispatch {
        let key = Note { dispatch, ..note.clone() }.idempotency_key();
        let key = IdempotencyKey::parse(key).map_err(|error| error.to_string())?;
        let found = store.by_key(&note.task.thread.user, &key.digest()).await;
        let Some((run, _)) = found.map_err(|error| failed(&error))? else { continue };
        let run = store.load(&run).await.map_err(|error| failed(&error))?;
        well += usize::from(run.as_ref().is_some_and(is_well));
    }
    Ok(well)
}
