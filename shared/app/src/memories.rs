//! What is remembered of users, for those who look at it and change it: the caller himself, his agents, and whoever learns from
//! what was said.

use std::collections::BTreeMap;
use std::sync::Arc;

use pudu_domain::memory::{Edit, Fact, Lessons, NewFact, Refused, Section, Summary, Terms};
use pudu_domain::{FactId, Memory, MemoryKey, RunId, Timestamp};

use crate::ports::{Clock, MemoryKept, MemoryStore, Random, StoreError};

/// How often a change is made anew because others changed the document meanwhile.
const ATTEMPTS: usize = 8;

/// Reads and changes documents.
#[derive(Clone)]
pub struct Memories {
    /// The documents.
    pub store: Arc<dyn MemoryStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// For ids of facts.
    pub random: Arc<dyn Random>,
}

/// Why a document was not changed.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The table.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// By its own rules.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It is not the one that the caller read.
    #[error("the memory has changed since you read it; read it again")]
    Stale,
    /// Others changed it again and again.
    #[error("the memory is being changed by others; try again")]
    Busy,
}

/// Over which revisions a change may be made; none is whatever there is.
pub type Over<'a> = Option<&'a [u64]>;

impl Memories {
    /// A document.
    pub async fn read(&self, key: &MemoryKey) -> Result<Memory, StoreError> {
        self.store.load(key).await
    }

    /// Remembers a fact, from `source`; where there are `most` already, the least of the others gives way.
    pub async fn add(
        &self,
        key: &MemoryKey,
        over: Over<'_>,
        (new, source): (&NewFact, &str),
        most: usize,
    ) -> Result<(Memory, FactId), MemoryError> {
        let mut drawn = [0; 8];
        self.random.fill(&mut drawn);
        let id = FactId::new(drawn);
        let memory = self.change(key, over, |memory, now| {
            let fact = Fact::new(id.clone(), &new.content, &new.category, new.confidence, (now, source))?;
            memory.add(fact, most)
        });
        Ok((memory.await?, id))
    }

    /// Changes a fact.
    pub async fn edit(
        &self,
        key: &MemoryKey,
        over: Over<'_>,
        id: &FactId,
        edit: &Edit,
    ) -> Result<Memory, MemoryError> {
        self.change(key, over, |memory, _| memory.edit(id, edit)).await
    }

    /// Forgets a fact.
    pub async fn remove(&self, key: &MemoryKey, over: Over<'_>, id: &FactId) -> Result<Memory, MemoryError> {
        self.change(key, over, |memory, _| memory.remove(id)).await
    }

    /// Forgets everything.
    pub async fn clear(&self, key: &MemoryKey, over: Over<'_>) -> Result<Memory, MemoryError> {
        self.change(key, over, |memory, _| {
            memory.clear();
            Ok(())
        })
        .await
    }

    /// Puts these facts and summaries in the place of everything that is remembered.
    pub async fn replace(
        &self,
        key: &MemoryKey,
        over: Over<'_>,
        (facts, summaries): (Vec<Fact>, BTreeMap<Section, Summary>),
        most: usize,
    ) -> Result<Memory, MemoryError> {
        self.change(key, over, |memory, _| {
            memory.replace(facts.clone(), summaries.clone(), most);
            Ok(())
        })
        .await
    }

    /// Learns what a run taught: once, however often it is tried.
    pub async fn learn(
        &self,
        key: &MemoryKey,
        (run, source): (&RunId, &str),
        lessons: &Lessons,
        terms: Terms,
    ) -> Result<Memory, MemoryError> {
        self.change(key, None, |memory, now| {
            memory.learn(lessons, run, source, now, terms);
            Ok(())
        })
        .await
    }

    /// The one way in which a document changes: read, decide, write under the revision that was read. What changes nothing is not
    /// written.
    async fn change(
        &self,
        key: &MemoryKey,
        over: Over<'_>,
        edit: impl Fn(&mut Memory, Timestamp) -> Result<(), Refused>,
    ) -> Result<Memory, MemoryError> {
        for _ in 0..ATTEMPTS {
            let read = self.store.load(key).await?;
            if over.is_some_and(|revisions| !revisions.contains(&read.revision)) {
                return Err(MemoryError::Stale);
            }
            let now = self.clock.now();
            let mut after = read.clone();
            edit(&mut after, now)?;
            if after == read {
                return Ok(read);
            }
            let after = read.followed_by(after, now);
            match self.store.keep(key, &after).await? {
                MemoryKept::Done => return Ok(after),
                // Whoever named a revision finds out in the next round.
                MemoryKept::Moved => {}
            }
        }
        Err(MemoryError::Busy)
    }
}
