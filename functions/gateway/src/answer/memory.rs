//! What is remembered of a user, in the form in which clients of the reference read it, export it and import it again (agent
//! reference 7.4).

use std::collections::BTreeMap;

use jiff::Timestamp as Moment;
use pudu_config::Memory as Settings;
use pudu_domain::memory::{CATEGORY, Fact, MANUAL, Section, Summary};
use pudu_domain::{FactId, Memory, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::moment;
use crate::error::Failure;

/// The version of this form.
const VERSION: &str = "1.0";
/// How sure a fact is of which nobody says it.
pub(crate) const CONFIDENCE: f64 = 0.5;

/// Everything that is remembered.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemoryDocument {
    /// `1.0`.
    version: String,
    /// How often it was changed; its `ETag`.
    revision: u64,
    /// UTC; empty if it never was.
    last_updated: String,
    user: UserContext,
    history: HistoryContext,
    #[schema(max_items = 500)]
    facts: Vec<FactRow>,
}

/// What was exported. What it is must be said: any other file would be a memory of nothing, and take the place of everything.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct MemoryImport {
    /// `1.0`.
    #[schema(pattern = "^1\\.0$")]
    version: String,
    /// Of what it was exported from; it changes nothing.
    #[serde(default)]
    #[expect(dead_code, reason = "an export has it, and it is of another document")]
    revision: Option<f64>,
    /// Of what it was exported from; it changes nothing.
    #[serde(default)]
    #[expect(dead_code, reason = "an export has it, and it is of another document")]
    last_updated: Option<String>,
    #[serde(default)]
    user: UserContext,
    #[serde(default)]
    history: HistoryContext,
    facts: Vec<FactRow>,
}

/// Summaries of the user.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct UserContext {
    work_context: ContextSection,
    personal_context: ContextSection,
    top_of_mind: ContextSection,
}

/// Summaries of what was.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct HistoryContext {
    recent_months: ContextSection,
    earlier_context: ContextSection,
    long_term_background: ContextSection,
}

/// A summary; both are empty if there is none.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ContextSection {
    /// Longer ones are cut to 2000 characters.
    summary: String,
    updated_at: String,
}

/// A fact.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FactRow {
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$")]
    id: String,
    #[schema(max_length = 500, pattern = "\\S")]
    content: String,
    #[serde(default = "category")]
    #[schema(max_length = 40)]
    category: String,
    /// 0 to 1.
    #[serde(default = "confidence")]
    #[schema(minimum = 0, maximum = 1)]
    confidence: f64,
    /// UTC.
    #[serde(default)]
    created_at: String,
    /// The thread that it is from, or `manual`.
    #[serde(default = "source")]
    source: String,
}

/// What the operator settled.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MemoryConfig {
    enabled: bool,
    /// `middleware`: a model looks through what was said; `tool`: the agent has tools for it.
    mode: &'static str,
    /// Whether agents are told what is remembered.
    injection_enabled: bool,
    /// Which model looks; null is the run's.
    model_name: Option<String>,
    debounce_seconds: u64,
    max_facts: usize,
    fact_confidence_threshold: f64,
    max_injection_tokens: u64,
}

/// Both.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MemoryStatus {
    pub(crate) config: MemoryConfig,
    pub(crate) data: MemoryDocument,
}

fn category() -> String {
    CATEGORY.to_owned()
}

const fn confidence() -> f64 {
    CONFIDENCE
}

fn source() -> String {
    MANUAL.to_owned()
}

impl From<&Memory> for MemoryDocument {
    fn from(memory: &Memory) -> Self {
        let section =
            |section: Section| memory.summaries.get(&section).map(ContextSection::from).unwrap_or_default();
        Self {
            version: VERSION.to_owned(),
            revision: memory.revision,
            last_updated: if memory.revision == 0 { String::new() } else { moment(memory.updated_at) },
            user: UserContext {
                work_context: section(Section::WorkContext),
                personal_context: section(Section::PersonalContext),
                top_of_mind: section(Section::TopOfMind),
            },
            history: HistoryContext {
                recent_months: section(Section::RecentMonths),
                earlier_context: section(Section::EarlierContext),
                long_term_background: section(Section::LongTermBackground),
            },
            facts: memory.facts.iter().map(FactRow::from).collect(),
        }
    }
}

impl From<&Summary> for ContextSection {
    fn from(summary: &Summary) -> Self {
        Self { summary: summary.text.clone(), updated_at: moment(summary.updated_at) }
    }
}

impl From<&Fact> for FactRow {
    fn from(fact: &Fact) -> Self {
        Self {
            id: fact.id.as_str().to_owned(),
            content: fact.content.clone(),
            category: fact.category.clone(),
            confidence: fact.confidence.number(),
            created_at: moment(fact.created_at),
            source: fact.source.clone(),
        }
    }
}

impl From<&Settings> for MemoryConfig {
    fn from(settings: &Settings) -> Self {
        Self {
            enabled: settings.enabled,
            mode: settings.mode.as_str(),
            injection_enabled: settings.injection_enabled,
            model_name: settings.model.clone(),
            debounce_seconds: settings.debounce.as_secs(),
            max_facts: settings.max_facts,
            fact_confidence_threshold: settings.fact_confidence_threshold,
            max_injection_tokens: settings.max_injection_tokens,
        }
    }
}

impl MemoryImport {
    /// What it says, checked; a time that is none is `now`.
    pub(crate) fn read(self, now: Timestamp) -> Result<(Vec<Fact>, BTreeMap<Section, Summary>), Failure> {
        if self.version != VERSION {
            let detail = format!("version must be {VERSION}: what another one says is not known");
            return Err(Failure::unprocessable(detail));
        }
        let mut facts = Vec::with_capacity(self.facts.len());
        for (place, row) in self.facts.into_iter().enumerate() {
            let wrong = |what: String| Failure::unprocessable(format!("facts[{place}]: {what}"));
            let id = FactId::parse(row.id).map_err(|error| wrong(error.to_string()))?;
            let from = (read(&row.created_at, now), row.source.as_str());
            let fact = Fact::new(id, &row.content, &row.category, row.confidence, from);
            facts.push(fact.map_err(|refused| wrong(refused.to_string()))?);
        }
        let sections = [
            (Section::WorkContext, self.user.work_context),
            (Section::PersonalContext, self.user.personal_context),
            (Section::TopOfMind, self.user.top_of_mind),
            (Section::RecentMonths, self.history.recent_months),
            (Section::EarlierContext, self.history.earlier_context),
            (Section::LongTermBackground, self.history.long_term_background),
        ];
        let summaries = sections.map(|(section, said)| {
            (section, Summary { text: said.summary, updated_at: read(&said.updated_at, now) })
        });
        Ok((facts, BTreeMap::from(summaries)))
    }
}

/// A time as somebody wrote it.
fn read(text: &str, now: Timestamp) -> Timestamp {
    let millis = text.parse::<Moment>().ok().and_then(|moment| u64::try_from(moment.as_millisecond()).ok());
    millis.map_or(now, Timestamp::from_millis)
}
