//! What is remembered of a user from one conversation to the next (agent reference 7.4): facts and short summaries, one document for
//! each user and agent.
//!
//! Every rule by which a document changes is here, and a document always fits a row: what is too long is refused or cut, the facts
//! that are too many give way to better ones. Who writes names the revision that he read, so nobody's change is lost.

mod lesson;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ids::{AgentName, FactId, RunId, UserId};
use crate::text::one_line;
use crate::time::Timestamp;

pub use lesson::{LESSONS, Lessons, NewFact, Terms};

/// The first words of what a model is asked that looks for what is worth remembering. Whoever answers without a model knows by
/// them what is asked.
pub const QUESTION: &str = "You keep the memory of an assistant";
/// Most characters of a fact.
pub const CONTENT_CHARS: usize = 500;
/// Most characters of a fact's category.
pub const CATEGORY_CHARS: usize = 40;
/// Most characters of where a fact is from.
pub const SOURCE_CHARS: usize = 128;
/// Most characters of a summary.
pub const SUMMARY_CHARS: usize = 2000;
/// Most facts that an operator may allow.
pub const MOST_FACTS: usize = 500;
/// Most bytes of the facts of a document, as they are counted here; its row has room for more.
pub const FACTS_BYTES: usize = 200 * 1024;
/// How many runs a document remembers to have learnt from; a run that is done again comes long before so many others.
const LEARNT: usize = 32;
/// The category of a fact that has none.
pub const CATEGORY: &str = "context";
/// Where a fact is from that a user wrote.
pub const MANUAL: &str = "manual";

/// A document, addressed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryKey {
    /// Whose.
    pub user: UserId,
    /// Which custom agent's; none is the lead's.
    pub agent: Option<AgentName>,
}

/// How sure a fact is, in thousandths: 0 to 1000. Whole numbers, so that what is stored is what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct Confidence(u16);

/// One thing that is known of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Which.
    pub id: FactId,
    /// What is known: not blank, at most [`CONTENT_CHARS`].
    pub content: String,
    /// Of what kind, for example `preference`.
    pub category: String,
    /// How sure it is.
    pub confidence: Confidence,
    /// Since when it is known.
    pub created_at: Timestamp,
    /// Where it is from: a thread's id, or [`MANUAL`].
    pub source: String,
}

/// What a summary is about; the names of the reference's document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// What the user works on.
    WorkContext,
    /// Who the user is otherwise.
    PersonalContext,
    /// What is on the user's mind.
    TopOfMind,
    /// The last months.
    RecentMonths,
    /// What was before them.
    EarlierContext,
    /// What holds for long.
    LongTermBackground,
}

/// A summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// What it says: not blank, at most [`SUMMARY_CHARS`].
    pub text: String,
    /// When it was written.
    pub updated_at: Timestamp,
}

/// A document. What nobody wrote yet is the default one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// How often it was changed; whoever changes it names the one that he read.
    pub revision: u64,
    /// What is known, in the order in which it was learnt.
    pub facts: Vec<Fact>,
    /// The summaries that there are.
    pub summaries: BTreeMap<Section, Summary>,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// The runs that it learnt from, the last one last: none is learnt from twice.
    pub learnt: Vec<RunId>,
}

/// What is to be different in a fact.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Edit {
    /// What is known.
    pub content: Option<String>,
    /// Of what kind.
    pub category: Option<String>,
    /// How sure it is.
    pub confidence: Option<f64>,
}

/// Why a document is not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Nothing is said.
    #[error("the content of a fact must not be blank")]
    Blank,
    /// Too much is said.
    #[error(
        "the content of a fact may have at most {CONTENT_CHARS} characters, its category {CATEGORY_CHARS}"
    )]
    TooLong,
    /// It is no measure.
    #[error("confidence must be a number from 0 to 1")]
    Confidence,
    /// It is known already.
    #[error("a fact with the same content is remembered already")]
    Duplicate,
    /// There is none.
    #[error("no such fact is remembered")]
    NoSuchFact,
}

impl Section {
    /// Every one, in the order in which they are told.
    pub const ALL: [Self; 6] = [
        Self::WorkContext,
        Self::PersonalContext,
        Self::TopOfMind,
        Self::RecentMonths,
        Self::EarlierContext,
        Self::LongTermBackground,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WorkContext => "work_context",
            Self::PersonalContext => "personal_context",
            Self::TopOfMind => "top_of_mind",
            Self::RecentMonths => "recent_months",
            Self::EarlierContext => "earlier_context",
            Self::LongTermBackground => "long_term_background",
        }
    }
}

impl Confidence {
    /// From a number from 0 to 1; no other is one.
    pub fn of(number: f64) -> Option<Self> {
        if !(0.0..=1.0).contains(&number) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between 0 and 1000"
        )]
        Some(Self((number * 1000.0).round() as u16))
    }

    /// As a number from 0 to 1.
    pub fn number(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

impl TryFrom<u16> for Confidence {
    type Error = Refused;

    fn try_from(thousandths: u16) -> Result<Self, Refused> {
        if thousandths <= 1000 { Ok(Self(thousandths)) } else { Err(Refused::Confidence) }
    }
}

impl From<Confidence> for u16 {
    fn from(confidence: Confidence) -> Self {
        confidence.0
    }
}

impl Fact {
    /// A fact, checked: on one line, and of what length a fact may have. A blank category is [`CATEGORY`].
    pub fn new(
        id: FactId,
        content: &str,
        category: &str,
        confidence: f64,
        (created_at, source): (Timestamp, &str),
    ) -> Result<Self, Refused> {
        let confidence = Confidence::of(confidence).ok_or(Refused::Confidence)?;
        let source = crate::text::first_chars(source, SOURCE_CHARS).to_owned();
        Ok(Self { id, content: said(content)?, category: kind(category)?, confidence, created_at, source })
    }

    /// The same words in another spelling are the same fact.
    fn likeness(&self) -> String {
        self.content.trim_end_matches(['.', '!', '。']).to_lowercase()
    }

    fn bytes(&self) -> usize {
        // Around them stand the names of the fields and the numbers.
        self.id.as_str().len() + self.content.len() + self.category.len() + self.source.len() + 128
    }
}

// Characters are counted as they are said, for the contract knows nothing of what is folded.

fn said(content: &str) -> Result<String, Refused> {
    let line = one_line(content);
    match content.chars().nth(CONTENT_CHARS) {
        _ if line.is_empty() => Err(Refused::Blank),
        Some(_) => Err(Refused::TooLong),
        None => Ok(line),
    }
}

fn kind(category: &str) -> Result<String, Refused> {
    let line = one_line(category);
    match category.chars().nth(CATEGORY_CHARS) {
        Some(_) => Err(Refused::TooLong),
        None if line.is_empty() => Ok(CATEGORY.to_owned()),
        None => Ok(line),
    }
}

impl Memory {
    /// The document that takes the place of this one: `after`, under the next revision.
    #[must_use]
    pub fn followed_by(&self, after: Self, now: Timestamp) -> Self {
        Self { revision: self.revision.saturating_add(1), updated_at: now, ..after }
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty() && self.summaries.is_empty()
    }

    /// The fact of that id.
    pub fn fact(&self, id: &FactId) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.id == *id)
    }

    /// Adds a fact; where there are as many as may be, the least of the others gives way.
    pub fn add(&mut self, fact: Fact, most: usize) -> Result<(), Refused> {
        if self.knows(&fact, None) || self.fact(&fact.id).is_some() {
            return Err(Refused::Duplicate);
        }
        let id = fact.id.clone();
        self.facts.push(fact);
        self.cap(most, Some(&id));
        Ok(())
    }

    /// Changes a fact; what the edit does not name stays. Where all of them are too long then, the least of the others gives way.
    pub fn edit(&mut self, id: &FactId, edit: &Edit) -> Result<(), Refused> {
        let old = self.fact(id).ok_or(Refused::NoSuchFact)?;
        let new = Fact {
            content: edit.content.as_deref().map_or_else(|| Ok(old.content.clone()), said)?,
            category: edit.category.as_deref().map_or_else(|| Ok(old.category.clone()), kind)?,
            confidence: match edit.confidence {
                None => old.confidence,
                Some(number) => Confidence::of(number).ok_or(Refused::Confidence)?,
            },
            ..old.clone()
        };
        if self.knows(&new, Some(id)) {
            return Err(Refused::Duplicate);
        }
        for fact in self.facts.iter_mut().filter(|fact| fact.id == *id) {
            fact.clone_from(&new);
        }
        // As many as there were, and no more bytes than a row takes.
        self.cap(MOST_FACTS, Some(id));
        Ok(())
    }

    /// Removes a fact.
    pub fn remove(&mut self, id: &FactId) -> Result<(), Refused> {
        let before = self.facts.len();
        self.facts.retain(|fact| fact.id != *id);
        if self.facts.len() < before { Ok(()) } else { Err(Refused::NoSuchFact) }
    }

    /// Forgets everything that is known; not what it was learnt from, which would be learnt anew.
    pub fn clear(&mut self) {
        self.facts.clear();
        self.summaries.clear();
    }

    /// Takes the place of everything that is known. Of facts that say the same, or have one id, the first stays.
    pub fn replace(&mut self, facts: Vec<Fact>, summaries: BTreeMap<Section, Summary>, most: usize) {
        let (mut ids, mut known) = (BTreeSet::new(), BTreeSet::new());
        self.facts = facts;
        self.facts.retain(|fact| ids.insert(fact.id.clone()) && known.insert(fact.likeness()));
        self.summaries = BTreeMap::new();
        for (section, summary) in summaries {
            self.summarize(section, &summary.text, summary.updated_at);
        }
        self.cap(most, None);
    }

    /// Facts in the order in which they are worth telling: the surest first, of those the newest.
    pub fn ranked(&self) -> Vec<&Fact> {
        let mut facts: Vec<&Fact> = self.facts.iter().collect();
        facts.sort_by(|a, b| rank(b).cmp(&rank(a)));
        facts
    }

    /// Sets a summary, cut to its length; a blank one takes it away.
    fn summarize(&mut self, section: Section, text: &str, now: Timestamp) {
        let text = one_line(text);
        let text = crate::text::first_chars(&text, SUMMARY_CHARS).trim_end().to_owned();
        if text.is_empty() {
            self.summaries.remove(&section);
        } else {
            self.summaries.insert(section, Summary { text, updated_at: now });
        }
    }

    /// Whether another fact than that of `except` says the same.
    fn knows(&self, fact: &Fact, except: Option<&FactId>) -> bool {
        let likeness = fact.likeness();
        self.facts.iter().any(|known| Some(&known.id) != except && known.likeness() == likeness)
    }

    /// Keeps the best facts, as many as may be and as fit; `keep` is one of them in any case.
    fn cap(&mut self, most: usize, keep: Option<&FactId>) {
        let most = most.clamp(1, MOST_FACTS);
        let mut kept = BTreeSet::new();
        let mut left = FACTS_BYTES;
        let mut ranked = self.ranked();
        // Stable: the others keep their order.
        ranked.sort_by_key(|fact| Some(&fact.id) != keep);
        for fact in ranked.into_iter().take(most) {
            let Some(after) = left.checked_sub(fact.bytes()) else { break };
            left = after;
            kept.insert(fact.id.clone());
        }
        self.facts.retain(|fact| kept.contains(&fact.id));
    }
}

/// The better the higher; the id, so that two are never alike.
fn rank(fact: &Fact) -> (Confidence, Timestamp, &FactId) {
    (fact.confidence, fact.created_at, &fact.id)
}
