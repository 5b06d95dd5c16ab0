//! Run stores that break one rule on the way to the table. Each must fail a case of conformance. What else stands before a store
//! of runs is a [`Rule`] too.

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

/// What is done otherwise before a store of runs: nothing, where nothing else is said.
#[async_trait]
pub trait Rule: Send + Sync + 'static {
    /// Commits a change.
    async fn commit(&self, inner: &dyn RunStore, change: &Change) -> Result<Applied, StoreError> {
        inner.commit(change).await
    }

    /// The checkpoints that a state is made of.
    fn chain(&self, chain: Vec<Checkpoint>) -> Vec<Checkpoint> {
        chain
    }

    /// What was read of a stream.
    fn page(&self, page: ToldPage) -> ToldPage {
        page
    }

    /// A thread's runs.
    fn listed(&self, runs: Vec<(Run, RunSpec)>) -> Vec<(Run, RunSpec)> {
        runs
    }
}

/// A store of runs behind a rule.
pub struct Ruled<R> {
    inner: Arc<dyn RunStore>,
    rule: R,
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
        Arc::new(Ruled::new(inner, self))
    }

    async fn alter(self, inner: &dyn RunStore, mut change: Change) -> Result<Change, StoreError> {
        let is_record = |notice: &Notice| matches!(notice, Notice::Record { .. });
        match self {
            Self::IgnoresClaims => meet(inner, &mut change.run).await?,
            Self::IgnoresWake => {
                let stored = inner.load(&change.run.run.key).await?;
                if let (Expect::Held { wake, .. } | Expect::Unchanged { wake, .. }, Some(stored)) =
                    (&mut change.run.expect, stored)
                {
                    *wake = stored.durable.wake;
                }
            }
            Self::IgnoresOthers => {
                for other in &mut change.others {
                    meet(inner, other).await?;
                }
            }
            Self::ForgetsOthers => change.others.clear(),
            Self::IgnoresRevisions => {
                if let Some(kept) = &mut change.conversation {
                    let stored = inner.conversation(&kept.conversation.thread).await?;
                    kept.expect = stored.map(|stored| stored.revision);
                }
            }
            Self::ForgetsCheckpoints => change.checkpoint = None,
            Self::ForgetsFrames => change.told.retain(|told| is_record(&told.notice)),
            Self::ForgetsRecords => change.told.retain(|told| !is_record(&told.notice)),
            Self::KeepsSecrets => change.forget.clear(),
            Self::KeepsEnded => {
                change.run.expires = None;
            }
            Self::ForgetsKeys => change.born.iter_mut().for_each(|birth| birth.key = None),
            Self::ForgetsItsOwn | Self::HidesGaps | Self::CutsChains | Self::ListsOldestFirst => {}
        }
        Ok(change)
    }
}

#[async_trait]
impl Rule for RunMutant {
    async fn commit(&self, inner: &dyn RunStore, change: &Change) -> Result<Applied, StoreError> {
        let applied = inner.commit(&self.alter(inner, change.clone()).await?).await?;
        Ok(match applied {
            Applied::Woken if *self == Self::ForgetsItsOwn => Applied::Lost,
            applied => applied,
        })
    }

    fn chain(&self, mut chain: Vec<Checkpoint>) -> Vec<Checkpoint> {
        if *self == Self::CutsChains && chain.len() > 5 {
            chain.remove(0);
        }
        chain
    }

    fn page(&self, page: ToldPage) -> ToldPage {
        ToldPage { gap: page.gap && *self != Self::HidesGaps, ..page }
    }

    fn listed(&self, mut runs: Vec<(Run, RunSpec)>) -> Vec<(Run, RunSpec)> {
        if *self == Self::ListsOldestFirst {
            runs.reverse();
        }
        runs
    }
}

/// A condition that the row, as it is, meets.
async fn meet(inner: &dyn RunStore, written: &mut Written) -> Result<(), StoreError> {
    if let Some(stored) = inner.load(&written.run.key).await? {
        written.expect = stored.durable.unchanged();
    }
    Ok(())
}

impl<R: Rule> Ruled<R> {
    /// This store, behind this rule.
    pub fn new(inner: Arc<dyn RunStore>, rule: R) -> Self {
        Self { inner, rule }
    }
}

#[async_trait]
impl<R: Rule> RunStore for Ruled<R> {
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
        self.rule.commit(self.inner.as_ref(), change).await
    }

    async fn keep(
        &self,
        kept: &Kept,
        checkpoint: Option<&Checkpoint>,
    ) -> Result<ConversationKept, StoreError> {
        self.inner.keep(kept, checkpoint).await
    }

    async fn checkpoints(&self, run: &RunKey, number: u32) -> Result<Vec<Checkpoint>, StoreError> {
        Ok(self.rule.chain(self.inner.checkpoints(run, number).await?))
    }

    async fn history(&self, run: &RunKey, number: u32, limit: usize) -> Result<Vec<Checkpoint>, StoreError> {
        self.inner.history(run, number, limit).await
    }

    async fn frames(&self, run: &RunKey, after: u64, limit: usize) -> Result<ToldPage, StoreError> {
        Ok(self.rule.page(self.inner.frames(run, after, limit).await?))
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
        Ok(self.rule.listed(self.inner.runs(thread, limit, before).await?))
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
