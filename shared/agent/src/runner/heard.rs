//! What a look back is to look at: what was said in the conversation to the agent of its run since that agent's last look back, and
//! nothing that a user took back.
//!
//! The records of runs are read and not the state, so what a summary has taken the place of since is there too. Runs of another agent
//! are looked at behind that one's own, into its own memory; and runs that are not behind the conversation as it stands (what was
//! edited, made anew, taken back, or left for an older checkpoint) are not looked at.

use std::collections::BTreeSet;

use pudu_app::ports::RecordQuery;
use pudu_domain::chat::Message;
use pudu_domain::run::{Aside, Notice, Outcome};
use pudu_domain::{Conversation, Run, RunId, RunKey};
use serde::Deserialize;

use super::session::{Session, Stop};
use crate::memory;
use crate::memory::lesson::{HEARD, Said, said};
use crate::options::Options;

/// Runs that are read at once, and how often; and checkpoints that are gone back through.
const RUNS: usize = 10;
const PAGES: usize = 20;
const BACK: usize = 2 * RUNS * PAGES;
/// Records that are read at once.
const RECORDS: usize = 100;

impl Session {
    /// The runs that are to be looked at, the newest first; none if a later run of the same agent is looked back at, with which they are.
    pub(super) async fn owed(&self, conversation: &Conversation) -> Result<Option<Vec<Run>>, Stop> {
        let (runs, agent) = (&self.parts.runs, memory::agent(&self.options));
        let (mut owed, mut before): (Vec<Run>, Option<RunId>) = (Vec::new(), None);
        for _ in 0..PAGES {
            let page = runs.runs(&self.run.key.thread, RUNS, before.as_ref()).await?;
            let Some((oldest, _)) = page.last() else { return Ok(Some(owed)) };
            before = Some(oldest.key.id.clone());
            for (run, spec) in page {
                if memory::agent(&Options::read(&spec.options)) != agent {
                    continue;
                }
                if run.ordinal < self.run.ordinal && run.ordinal == conversation.remembered {
                    return Ok(Some(owed));
                }
                let aside = if run.ordinal == self.run.ordinal {
                    None
                } else {
                    runs.load(&Aside::of(&run.key)).await?
                };
                if run.ordinal > self.run.ordinal {
                    if aside.is_some() {
                        return Ok(None);
                    }
                    continue;
                }
                let looked = aside.as_ref().and_then(Run::end).map(|end| end.outcome);
                if looked == Some(Outcome::Success) {
                    return Ok(Some(owed));
                }
                owed.push(run);
            }
        }
        let read = RUNS * PAGES;
        tracing::info!(run.id = %self.run.key.id, read, "a conversation has more runs than are looked back at");
        Ok(Some(owed))
    }

    /// What was said in those runs, as far as they are behind the conversation as it stands, in order; of more than can be shown the
    /// newest.
    pub(super) async fn said(&self, conversation: &Conversation, owed: &[Run]) -> Result<Vec<Said>, Stop> {
        let stands = self.behind(conversation, owed).await?;
        let (mut heard, mut left) = (Vec::new(), HEARD);
        for run in owed.iter().filter(|run| stands.contains(&run.key.id)) {
            self.hear(run, &mut heard, &mut left).await?;
        }
        heard.reverse();
        Ok(heard)
    }

    /// Which of those runs are behind the conversation as it stands: by the first checkpoint of each, which says from where it went on.
    async fn behind(&self, conversation: &Conversation, owed: &[Run]) -> Result<BTreeSet<RunId>, Stop> {
        let mut stands = BTreeSet::new();
        let mut next = conversation.head.clone();
        for _ in 0..BACK {
            let Some(head) = next.take().filter(|head| !head.is_beginning()) else { break };
            let key = RunKey { thread: conversation.thread.clone(), id: head.run };
            let first = self.parts.runs.history(&key, 0, 1).await?.into_iter().next();
            next = first.and_then(|first| first.parent);
            let is_last = owed.last().is_some_and(|oldest| oldest.key.id == key.id);
            stands.insert(key.id);
            if is_last {
                break;
            }
        }
        Ok(stands)
    }

    /// What was said in that run, the newest first, behind what was heard already.
    async fn hear(&self, run: &Run, heard: &mut Vec<Said>, left: &mut usize) -> Result<(), Stop> {
        let mut before = None;
        while *left > 0 {
            let query = RecordQuery {
                ordinal: Some(run.ordinal),
                before,
                limit: RECORDS,
                newest_first: true,
                ..RecordQuery::default()
            };
            let page = self.parts.runs.records(&run.key.thread, &query).await?;
            let Some(oldest) = page.last() else { return Ok(()) };
            before = Some((oldest.ordinal, oldest.seq));
            for record in page {
                // What a subagent was told and answered stands under its run's number too; no user said it.
                let Notice::Record { event_type, content, .. } = &record.notice else { continue };
                let is_said = matches!(event_type.as_str(), "llm.human.input" | "llm.ai.response");
                if !is_said || record.run != run.key {
                    continue;
                }
                if let Some(mut said) = Message::deserialize(content).ok().as_ref().and_then(said) {
                    *left = said.cut(*left);
                    heard.push(said);
                }
                if *left == 0 {
                    break;
                }
            }
        }
        Ok(())
    }
}
