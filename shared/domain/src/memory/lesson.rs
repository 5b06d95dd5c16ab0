//! What a conversation taught, and how it becomes a part of a document.

use std::collections::BTreeMap;

use super::{CATEGORY_CHARS, Fact, LEARNT, Memory, Section};
use crate::ids::{FactId, RunId};
use crate::text::first_chars;
use crate::time::Timestamp;

/// Most facts that one conversation adds, and most that it takes away: a text that means to overwrite a memory does not get far.
pub const LESSONS: usize = 20;

/// A fact that is to be remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct NewFact {
    /// What.
    pub content: String,
    /// Of what kind.
    pub category: String,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
}

/// What a conversation taught.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lessons {
    /// Facts that are new.
    pub facts: Vec<NewFact>,
    /// Facts that do not hold any more.
    pub outdated: Vec<FactId>,
    /// Summaries that say something else now.
    pub summaries: BTreeMap<Section, String>,
}

/// What an operator settled for memories.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// Most facts.
    pub most: usize,
    /// How sure a fact must be to be kept, 0 to 1.
    pub threshold: f64,
}

impl Memory {
    /// Whether that run's lessons are in it.
    pub fn has_learnt(&self, run: &RunId) -> bool {
        self.learnt.contains(run)
    }

    /// Learns, once of each run. A fact that is known already is as sure as the surer of the two; one that is no fact is left out.
    pub fn learn(&mut self, lessons: &Lessons, run: &RunId, source: &str, now: Timestamp, terms: Terms) {
        if self.has_learnt(run) {
            return;
        }
        for id in lessons.outdated.iter().take(LESSONS) {
            self.facts.retain(|fact| fact.id != *id);
        }
        let sure = lessons.facts.iter().filter(|fact| fact.confidence >= terms.threshold);
        for (number, new) in sure.take(LESSONS).enumerate() {
            let category = first_chars(&new.category, CATEGORY_CHARS);
            let id = FactId::learnt(run, number);
            let Ok(fact) = Fact::new(id, &new.content, category, new.confidence, (now, source)) else {
                continue;
            };
            match self.facts.iter_mut().find(|known| known.likeness() == fact.likeness()) {
                Some(known) => known.confidence = known.confidence.max(fact.confidence),
                None => self.facts.push(fact),
            }
        }
        for (section, text) in &lessons.summaries {
            self.summarize(*section, text, now);
        }
        self.cap(terms.most, None);
        self.learnt.push(run.clone());
        let surplus = self.learnt.len().saturating_sub(LEARNT);
        self.learnt.drain(..surplus);
    }
}
