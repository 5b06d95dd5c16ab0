//! Run stores that break one rule on the way to the table. Each must fail a case of conformance.

use std::sync::Arc;

use async_trait::async_trait;
use pudu_app::ports::{Applied, ConversationKept, Record, RecordQuery, RunStore, StoreError, ToldPage};
use pudu_domain::conversation::Kept;
use pudu_domain::run::{Change, Checkpoint, Notice, Written};
use pudu_domain::{
    Conversation, Expect, Lease, Run, RunId, RunKey, RunSpec, ThreadId, ThreadKey, Timestamp, UserId,
};

/// One broken rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunMutant {
    /// A commit looks at no claim and no lease.
    IgnoresClaims,
    /// A commit does not see that the row was changed beside it.
    IgnoresWake,
    /// A change of another run, of the parent or the next one, is not looked at before it is written over.
    IgnoresOthers,
    /// The other runs of a change are not written.
    ForgetsOthers,
    /// A conversation is written whatever was read.
    IgnoresRevisions,
    /// The checkpoint of a step is not written.
    ForgetsCheckpoints,
    /// Frames are not written.
    ForgetsFrames,
    /// Records are not written.
    ForgetsRecords,
    /// Secrets stay when their run has ended.
    KeepsSecrets,
    /// What has ended stays for ever.
    KeepsEnded,
    /// A caller's key is not written.
    ForgetsKeys,
    /// A step that was kept twice counts as lost.
    ForgetsItsOwn,
    /// What has left a stream is passed over.
    HidesGaps,
    /// The last whole state is not looked for.
    CutsChains,
    /// A thread's runs are listed from the other end.
    ListsOldestFirst,
}

struct Broken {
    inner: Arc<dyn RunStore>,
    mutant: RunMutant,
}

impl RunMutant {
    /// Every mutant.
    pub const ALL: [Self; 15] = [
        Self::IgnoresClaims,
        Self::IgnoresWake,
        Self::IgnoresOthers,
        Self::ForgetsOthers,
        Self::IgnoresRevisions,
        Self::ForgetsCheckpoints,
        Self::ForgetsFrames,
        Self::ForgetsRecords,
        Self::KeepsSecrets,
        Self::KeepsEnded,
        Self::ForgetsKeys,
        Self::ForgetsItsOwn,
        Self::HidesGaps,
        Self::CutsChains,
        Self::ListsOldestFirst,
    ];

    /// The store with this rule broken.
    pub fn runs(self, inner: Arc<dyn RunStore>) -> Arc<dyn RunStore> {
        Arc::new(Broken { inner, mutant: self })
    }
}

impl Broken {
    /// A condition that the row, as it is, meets.
    async fn met(&self, written: &mut Written) -> Result<(), StoreError> {
        if let Some(stored) = self.inner.load(&written.run.key).await? {
            written.expect = stored.durable.unchanged();
        }
        Ok(())
    }

    async fn alter(&self, mut change: Change) -> Result<Change, StoreError> {
        let is_record = |notice: &Notice| matches!(notice, Notice::Record { .. });
        match self.mutant {
            RunMutant::IgnoresClaims => self.met(&mut change.run).await?,
            RunMutant::IgnoresWake => {
                let stored = self.inner.load(&change.run.run.key).await?;
                if let (Expect::Held { wake, .. } | Expect::Unchanged { wake, .. }, Some(stored)) =
                    (&mut change.run.expect, stored)
                {
                    *wake = stored.durable.wake;
                }
            }
            RunMutant::IgnoresOthers => {
                for other in &mut change.others {
                    self.met(other).await?;
                }
            }
            RunMutant::ForgetsOthers => change.others.clear(),
            RunMutant::IgnoresRevisions => {
                if let Some(kept) = &mut change.conversation {
                    let stored = self.inner.conversation(&kept.conversation.thread).await?;
                    kept.expect = stored.map(|stored| stored.revision);
                }
            }
            RunMutant::ForgetsCheckpoints => change.checkpoint = None,
            RunMutant::ForgetsFrames => change.told.retain(|told| is_record(&told.notice)),
            RunMutant::ForgetsRecords => change.told.retain(|told| !is_record(&told.notice)),
            RunMutant::KeepsSecrets => change.forget.clear(),
            RunMutant::KeepsEnded => {
                change.run.expires = None;
            }
            RunMutant::ForgetsKeys => change.born.iter_mut().for_each(|birth| birth.key = None),
            RunMutant::ForgetsItsOwn
            | RunMutant::HidesGaps
            | RunMutant::CutsChains
            | RunMutant::ListsOldestFirst => {}
        }
        Ok(change)
    }
}

#[async_trait]
impl RunStore for Broken {
    async fn claim(&self, key: &RunKey, lease: Lease) -> Result<Option<Run>, StoreError> {
        self.inner.claim(key, lease).await
    }

    async fn load(&self, key: &RunKey) -> Result<Option<Run>, StoreError> {
        self.inner.load(key).await
    }

    async fn spec(&self, key: &RunKey) -> Result<Option<RunSpec>, StoreError> {
        self.inner.spec(key).await
    }

    async fn secrets(&self, key: &RunKey) -> Result<Option<String>, StoreError> {
        self.inner.secrets(key).await
    }

    async fn by_key(&self, user: &UserId, digest: &str) -> Result<Option<(RunKey, String)>, StoreError> {
        self.inner.by_key(user, digest).await
    }

    async fn conversation(&self, thread: &ThreadKey) -> Result<Option<Conversation>, StoreError> {
        self.inner.conversation(thread).await
    }

    async fn commit(&self, change: &Change) -> Result<Applied, StoreError> {
        let applied = self.inner.commit(&self.alter(change.clone()).await?).await?;
        Ok(match applied {
            Applied::Woken if self.mutant == RunMutant::ForgetsItsOwn => Applied::Lost,
            applied => applied,
        })
    }

    async fn keep(
        &self,
        kept: &Kept,
        checkpoint: Option<&Checkpoint>,
    ) -> Result<ConversationKept, StoreError> {
        self.inner.keep(kept, checkpoint).await
    }

    async fn checkpoints(&self, run: &RunKey, number: u32) -> Result<Vec<Checkpoint>, StoreError> {
        let mut chain = self.inner.checkpoints(run, number).await?;
        if self.mutant == RunMutant::CutsChains && chain.len() > 5 {
            chain.remove(0);
        }
        Ok(chain)
    }

    async fn history(&self, run: &RunKey, number: u32, limit: usize) -> Result<Vec<Checkpoint>, StoreError> {
        self.inner.history(run, number, limit).await
    }

    async fn frames(&self, run: &RunKey, after: u64, limit: usize) -> Result<ToldPage, StoreError> {
        let page = self.inner.frames(run, after, limit).await?;
        Ok(ToldPage { gap: page.gap && self.mutant != RunMutant::HidesGaps, ..page })
    }

    async fn records(&self, thread: &ThreadKey, query: &RecordQuery) -> Result<Vec<Record>, StoreError> {
        self.inner.records(thread, query).await
    }

    async fn runs(
        &self,
        thread: &ThreadKey,
        limit: usize,
        before: Option<&RunId>,
    ) -> Result<Vec<(Run, RunSpec)>, StoreError> {
        let mut runs = self.inner.runs(thread, limit, before).await?;
        if self.mutant == RunMutant::ListsOldestFirst {
            runs.reverse();
        }
        Ok(runs)
    }

    async fn conversations(
        &self,
        user: &UserId,
        limit: usize,
        before: Option<&(Timestamp, ThreadId)>,
    ) -> Result<Vec<Conversation>, StoreError> {
        self.inner.conversations(user, limit, before).await
    }
}
