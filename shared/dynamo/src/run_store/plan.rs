//! A change of runs as writes, and what a failed condition of one of them means. Pure.

use pudu_app::ports::{Applied, Committed, ConversationKept, StoreError};
use pudu_domain::conversation::Kept;
use pudu_domain::run::{Change, Checkpoint, Origin, Written};
use pudu_domain::{Expect, Timestamp};

use crate::body::EncodeError;
use crate::durable_row::judge;
use crate::item::{checkpoint, conversation, run, run_keyed, run_spec, secret, telling, thread};
use crate::key::Key;
use crate::retry::Failed;
use crate::row::ending;
use crate::write::{When, Write};

/// The element of a commit that is the row of the run that it is about: first, so that it is judged even by an engine that
/// stops at the first failed condition.
const HOT: usize = 0;

/// A change as writes, and which of them may fail for a reason of its own.
pub(super) struct Plan {
    pub(super) writes: Vec<Write>,
    thread: Option<usize>,
    keys: Vec<usize>,
}

impl Plan {
    /// Everything that becomes true together.
    pub(super) fn of(change: &Change) -> Result<Self, EncodeError> {
        let hot = &change.run.run;
        let mut plan = Self { writes: Vec::new(), thread: None, keys: Vec::new() };
        plan.row(&change.run)?;
        if matches!(change.run.expect, Expect::Absent { .. }) {
            plan.thread = Some(plan.add(thread::touch(&hot.key.thread, hot.created_at)));
        }
        for birth in &change.born {
            let born = hot.key.beside(birth.run.clone());
            if let Some((key, request)) = &birth.key {
                let row = run_keyed::encode(&born, key, request, change.kept_until);
                let when = When::Free(Key::Run(born.clone()));
                let element = plan.add(Write::put(run_keyed::ITEM, row, when));
                plan.keys.push(element);
            }
            plan.add(Write::put(run_spec::ITEM, run_spec::encode(&born, &birth.spec)?, When::Always));
            if let Some(sealed) = &birth.secrets {
                let row = secret::encode(&born, sealed, hot.created_at);
                plan.add(Write::put(secret::ITEM, row, When::Always));
            }
        }
        for other in &change.others {
            plan.row(other)?;
        }
        if let Some(kept) = &change.conversation {
            plan.writes.extend(conversation::writes(kept)?);
        }
        if let Some(new) = &change.checkpoint {
            // A child's chain is nobody's state once its parent has heard of its end.
            let ends = matches!(hot.origin, Origin::Child { .. }).then_some(change.kept_until);
            plan.add(checkpoint_write(new, ends)?);
        }
        for (item, row) in telling::encode(&change.told, change.kept_until)? {
            plan.add(Write::put(item, row, When::Always));
        }
        for run in &change.forget {
            plan.add(Write::Delete(Key::Secret(hot.key.beside(run.clone()))));
        }
        Ok(plan)
    }

    /// A row of a run, and the end of what was settled of it, if it has ended.
    fn row(&mut self, written: &Written) -> Result<(), EncodeError> {
        let row = ending(run::encode(&written.run)?, written.expires);
        self.add(Write::put(run::ITEM, row, When::Expect(written.expect.clone())));
        if let Some(at) = written.expires {
            self.add(run_spec::ends(&written.run.key, at));
        }
        Ok(())
    }

    fn add(&mut self, write: Write) -> usize {
        self.writes.push(write);
        self.writes.len() - 1
    }

    /// What a failed condition means. The run's own row outranks everything: a repetition of what had been applied fails at
    /// every row that it wrote.
    pub(super) fn judge(&self, change: &Change, failed: &Failed) -> Result<Applied, StoreError> {
        if failed.is_failed(HOT) {
            return Ok(match judge(run::ITEM, &change.run.expect, HOT, failed)? {
                Committed::Done => Applied::Done,
                Committed::Woken => Applied::Woken,
                Committed::Unknown => Applied::Unknown,
                // A run has no handle, and its key and its thread are judged below.
                Committed::Lost
                | Committed::HandleTaken(_)
                | Committed::KeyTaken { .. }
                | Committed::ThreadGone => Applied::Lost,
            });
        }
        if self.thread.is_some_and(|element| failed.is_failed(element)) {
            return Ok(Applied::ThreadGone);
        }
        if let Some(row) = self.keys.iter().find_map(|element| failed.row(*element)) {
            let (run, request) = run_keyed::decode(row)?;
            return Ok(Applied::KeyTaken { run, request });
        }
        Ok(Applied::Moved)
    }
}

/// The element of a conversation that is written alone which is its row.
const ROW: usize = 0;

/// A conversation that is written alone, with a checkpoint of the chain that it then points at.
pub(super) fn keeping(kept: &Kept, new: Option<&Checkpoint>) -> Result<Vec<Write>, EncodeError> {
    let mut writes = conversation::writes(kept)?;
    writes.push(thread::touch(&kept.conversation.thread, kept.conversation.created_at));
    writes.extend(new.map(|new| checkpoint_write(new, None)).transpose()?);
    Ok(writes)
}

/// What a failed condition of [`keeping`] means: it is the thread's, if the conversation's held.
pub(super) fn judge_keeping(kept: &Kept, failed: &Failed) -> Result<ConversationKept, StoreError> {
    if !failed.is_failed(ROW) {
        return Ok(ConversationKept::ThreadGone);
    }
    let stored = failed.row(ROW).filter(|_| failed.retried).map(conversation::decode).transpose()?;
    let mine = stored.as_ref() == Some(&kept.conversation);
    Ok(if mine { ConversationKept::Done } else { ConversationKept::Moved })
}

fn checkpoint_write(new: &Checkpoint, ends: Option<Timestamp>) -> Result<Write, EncodeError> {
    // Without a condition: a number is used once, under the run's lease or the conversation's revision.
    Ok(Write::put(checkpoint::ITEM, ending(checkpoint::encode(new)?, ends), When::Always))
}
