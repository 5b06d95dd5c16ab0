//! The promises about runs, checked when everything has come to rest: from the table, from what callers heard, and from what the
//! witness saw while it was rough.

mod events;
mod heads;
mod streams;

use std::collections::BTreeSet;

use pudu_app::chain::Chain;
use pudu_app::ports::{RecordQuery, RunStore, ThreadStore};
use pudu_domain::chat::Speaker;
use pudu_domain::run::Outcome;
use pudu_domain::state::State;
use pudu_domain::{Conversation, Durable, Run, Thread};
use pudu_testkit::Gate;
use pudu_testkit::sim::{Backend, Violation, only_owners_write};

use super::World;

const ENDS: &str = "every run ends";
const THREAD_FREE: &str = "no thread waits for a run that does not come";
const SECRETS_GO: &str = "the secrets of a run go with its end";
const NOT_WANTED: &str = "what has ended is wanted by nobody";
const NUMBERED: &str = "what a run tells is numbered without gap and double";
const SAID_ONCE: &str = "nothing stands twice in a conversation";
pub(super) const ONE_ACTIVE: &str = "a thread has one active run";
pub(super) const NOT_AGAIN: &str = "nothing is done again whose result stands";
const STREAMED: &str = "what was streamed is what stands";
const ONE_END: &str = "a stream ends once, as its run ended";
const WHOLE: &str = "every state is there whole";
const OWNERS_WRITE: &str = "no write by a holder whose lease ended";
const TOLD_BY_RUN: &str = "an event is told only by a run that has ended well, once";
const EVENTS_END: &str = "every event is delivered or ended";
pub(super) const ONE_KEY: &str = "a key stands for one run";
pub(super) const ON_TIME: &str = "whoever works ends before his deadline";
const END_STANDS: &str = "an end that somebody was told of stands";
const ADMITTED: &str = "a run that its caller was told of is there";
const GOES_WHOLE: &str = "a deleted thread goes whole";

/// Every promise.
pub const PROMISES: [&str; 19] = [
    ENDS,
    THREAD_FREE,
    SECRETS_GO,
    NOT_WANTED,
    NUMBERED,
    SAID_ONCE,
    ONE_ACTIVE,
    NOT_AGAIN,
    STREAMED,
    ONE_END,
    WHOLE,
    OWNERS_WRITE,
    TOLD_BY_RUN,
    EVENTS_END,
    ONE_KEY,
    ON_TIME,
    END_STANDS,
    ADMITTED,
    GOES_WHOLE,
];

/// Everything that is in the table.
pub(super) struct Seen {
    pub(super) runs: Vec<Run>,
    conversations: Vec<Conversation>,
    threads: Vec<Thread>,
    table: pudu_testkit::sim::Seen,
}

/// What was broken so far.
#[derive(Default)]
struct Findings(Vec<Violation>);

impl Findings {
    fn add(&mut self, promise: &'static str, evidence: impl std::fmt::Display) {
        self.0.push(Violation { promise, evidence: evidence.to_string() });
    }
}

impl Seen {
    /// Whether nobody has anything left to do.
    pub(super) fn is_quiet(&self) -> bool {
        !self.durables().any(Durable::is_live)
    }

    /// Every durable item.
    pub(super) fn durables(&self) -> impl Iterator<Item = &Durable> {
        let runs = self.runs.iter().map(|run| &run.durable);
        let tasks = self.table.tasks.iter().map(|row| &row.task.durable);
        let notes = self.table.notes.iter().map(|note| &note.durable);
        let threads = self.threads.iter().map(|thread| &thread.durable);
        runs.chain(tasks).chain(notes).chain(threads)
    }

    /// Events that runs told.
    pub(super) fn told_by_runs(&self) -> u64 {
        events::told(&self.table.notes).map(|_| 1).sum()
    }

    /// Runs that ended well.
    pub(super) fn ended_well(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(is_well(run))).sum()
    }
}

pub(super) fn is_well(run: &Run) -> bool {
    run.end().is_some_and(|end| end.outcome == Outcome::Success)
}

fn failed(error: &dyn std::error::Error) -> String {
    format!("{}", Chain(error))
}

impl<B: Backend> World<B> {
    /// Looks at everything, past every gate.
    pub(super) async fn seen(&self) -> Result<Seen, String> {
        let stores = self.backend.stores(std::sync::Arc::new(self.clock), &Gate::open());
        let (mut runs, mut conversations, mut threads, mut tasks) = (vec![], vec![], vec![], vec![]);
        for key in self.witness.keys() {
            runs.extend(stores.runs.load(&key).await.map_err(|error| failed(&error))?);
        }
        for key in &self.threads {
            let conversation = stores.runs.conversation(key).await.map_err(|error| failed(&error))?;
            conversations.extend(conversation);
            threads.extend(ThreadStore::load(&*stores.threads, key).await.map_err(|error| failed(&error))?);
            let listed = stores.tasks.list(key, 100, None).await.map_err(|error| failed(&error))?;
            tasks.extend(listed.into_iter().map(|(task, _)| task.key));
        }
        let table = self.backend.seen(&tasks, &self.threads).await?;
        Ok(Seen { runs, conversations, threads, table })
    }

    /// Every promise that is broken by what is seen.
    pub(super) async fn violations(&self, seen: &Seen) -> Result<Vec<Violation>, String> {
        let (store, asked) = (self.witness.runs(), self.asked.state());
        let mut found = Findings(self.witness.broken());
        found.0.extend(asked.broken.clone());
        found.0.extend(only_owners_write(&seen.table.writes));
        for conversation in &seen.conversations {
            if conversation.active.is_some() || !conversation.queue.is_empty() {
                let (active, queue) = (&conversation.active, &conversation.queue);
                found.add(THREAD_FREE, format!("{}: {active:?}, {queue:?}", conversation.thread.thread));
            }
        }
        for run in &seen.runs {
            rests(run, store, &mut found).await?;
            let state = match run.head() {
                None => State::default(),
                Some(head) => match self.witness.checkpoints().state(&run.key, head.number).await {
                    Ok(state) => state,
                    Err(error) => {
                        found.add(WHOLE, format!("{} at {}: {}", run.key.id, head.number, failed(&error)));
                        continue;
                    }
                },
            };
            said_once(run, &state, &mut found);
            streams::are_whole(self, run, &state, &mut found).await?;
        }
        heads::are_kept(store, seen, &mut found).await?;
        heads::begin_once(seen, &mut found);
        events::are_told(store, seen, &mut found).await?;
        for key in asked.admitted.values().filter(|key| !asked.unwanted.contains(&key.thread)) {
            if !seen.runs.iter().any(|run| run.key == *key) {
                found.add(ADMITTED, &key.id);
            }
        }
        for run in &seen.runs {
            let (told, stands) = (asked.ended.get(&run.key), run.end().map(|end| end.outcome));
            if told.is_some() && told.copied() != stands {
                found.add(END_STANDS, format!("{} ended {told:?}, and stands at {stands:?}", run.key.id));
            }
        }
        self.what_goes_goes_whole(seen, &mut found).await?;
        Ok(found.0)
    }

    /// A thread that is not there has nothing left.
    async fn what_goes_goes_whole(&self, seen: &Seen, found: &mut Findings) -> Result<(), String> {
        let there: BTreeSet<_> = seen.threads.iter().map(|thread| &thread.key).collect();
        for thread in seen.threads.iter().filter(|thread| thread.is_going()) {
            found.add(GOES_WHOLE, format!("{} is being deleted for ever", thread.key.thread));
        }
        let runs = seen.runs.iter().map(|run| &run.key.thread);
        let conversations = seen.conversations.iter().map(|conversation| &conversation.thread);
        let notes = seen.table.notes.iter().map(|note| &note.task.thread);
        let told = seen.table.delivered.iter().filter(|(_, events)| !events.is_empty());
        let tasks = seen.table.tasks.iter().map(|row| &row.task.key.thread);
        let rows = runs.chain(conversations).chain(tasks).chain(notes).chain(told.map(|(thread, _)| thread));
        for thread in rows.filter(|thread| !there.contains(thread)) {
            found.add(GOES_WHOLE, format!("{} is gone, and a row of it is not", thread.thread));
        }
        let store = self.witness.runs();
        for thread in self.threads.iter().filter(|thread| !there.contains(thread)) {
            let query = RecordQuery { limit: 1, ..RecordQuery::default() };
            let records = store.records(thread, &query).await.map_err(|error| failed(&error))?;
            if !records.is_empty() {
                found.add(GOES_WHOLE, format!("{} is gone, and its history is not", thread.thread));
            }
            // No run of these worlds keeps one of its own: a straggler's may stay, and nothing names it.
            let blobs = self.blobs.digests(thread);
            if !blobs.is_empty() {
                found.add(GOES_WHOLE, format!("{} is gone, and its blobs are not: {blobs:?}", thread.thread));
            }
        }
        for key in self.witness.keys().into_iter().filter(|key| !there.contains(&key.thread)) {
            let frames = store.frames(&key, 0, 1).await.map_err(|error| failed(&error))?;
            if !frames.told.is_empty() {
                found.add(
                    GOES_WHOLE,
                    format!("{} is gone, and what {} told is not", key.thread.thread, key.id),
                );
            }
        }
        Ok(())
    }
}

/// It has ended, and nothing of it is left to anybody.
async fn rests(run: &Run, store: &dyn RunStore, found: &mut Findings) -> Result<(), String> {
    let id = &run.key.id;
    if run.end().is_none() {
        found.add(ENDS, format!("{id} stands at {:?} with {:?}", run.phase, run.durable));
        return Ok(());
    }
    if store.secrets(&run.key).await.map_err(|error| failed(&error))?.is_some() {
        found.add(SECRETS_GO, id);
    }
    if run.durable.is_live() {
        found.add(NOT_WANTED, format!("{id}: {:?}", run.durable));
    }
    Ok(())
}

/// No message stands twice, no call has two answers, and behind a run that ended well each call has one.
fn said_once(run: &Run, state: &State, found: &mut Findings) {
    let (mut ids, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for message in &state.messages {
        if !ids.insert(&message.id) {
            found.add(SAID_ONCE, format!("{}: the message {}", run.key.id, message.id));
        }
        if message.speaker == Speaker::Tool && !answered.insert(&message.tool_call_id) {
            found.add(SAID_ONCE, format!("{}: an answer to {:?}", run.key.id, message.tool_call_id));
        }
    }
    let open = state.open_calls();
    if is_well(run) && !open.is_empty() {
        let open: Vec<&String> = open.iter().map(|call| &call.id).collect();
        found.add(WHOLE, format!("{} ended well, and nothing answers {open:?}", run.key.id));
    }
}
