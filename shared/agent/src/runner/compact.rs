//! A run that compacts its thread (agent reference 2.1, 7.1): the summary that a conversation gets when it is too long, made because
//! somebody asks for it. Nobody speaks, so it has one step, which is also its end: it stands whole or not at all, and who goes on
//! behind a kill asks a model again only if nothing stands.

use std::sync::Arc;

use pudu_domain::run::{
    Command, Compacted, Compaction, Ending, Keep, Notice, Outcome, Source, Step, Untouched,
};
use serde_json::json;

use super::aside::Beside;
use super::session::{Session, Stop};
use crate::summarization::{Shortened, is_due, shorten, tokens};
use crate::turn::{Turn, record};

impl Session {
    /// Compacts the conversation and ends the run.
    pub(super) async fn compact(&mut self, compaction: Compaction) -> Result<(), Stop> {
        let (spec, options, run) = (Arc::clone(&self.spec), Arc::clone(&self.options), self.run.clone());
        let settings = &options.house.agents.summarization;
        if !settings.enabled {
            return Err(failed("summarization is disabled in the config"));
        }
        let messages = self.state.messages.len();
        let size = tokens(&self.state.messages);
        let mut turn = Turn::new(&run, &spec, &options, self.state.clone(), self.now());
        let ids = json!({ "run_id": run.key.id, "thread_id": run.key.thread.thread });
        turn.tell(Notice::Frame { event: "metadata".to_owned(), data: ids });
        let began = json!({ "assistant_id": spec.assistant, "operation_kind": spec.operation.kind() });
        turn.tell(record("run.start", "trace", began, json!({})));
        let window = options.house.context_window;
        let due = compaction.force || is_due(&self.state.messages, &settings.triggers, window);
        let shortened = if due {
            let keep = compaction.keep.map_or(settings.keep, kept);
            // Who names a model for this wants that one.
            let model = settings.model.as_deref().filter(|_| options.model.is_none());
            let chosen = self.available().await?;
            let parts = Arc::clone(&self.parts);
            let aside = Beside { parts: &parts, run: &run, entry: Some(&chosen.entry) };
            self.watched(shorten(&mut turn, &aside, keep, model)).await?
        } else {
            Shortened::Untouched
        };
        let (reason, removed) = match shortened {
            Shortened::By(removed) => (None, removed),
            Shortened::Untouched if due => (Some(Untouched::NotEnoughMessages), 0),
            Shortened::Untouched => (Some(Untouched::NotDue), 0),
            Shortened::Unanswered => return Err(failed("no model wrote a summary; the thread is as it was")),
        };
        turn.custom(json!(Compacted::new(reason, removed, messages.saturating_sub(removed), size)));
        let step = if reason.is_none() {
            let (step, _) = self.step(turn, &[], true).await?;
            Step { source: Some(Source::Update), ..step }
        } else {
            // Nothing was written, so the thread stays at its checkpoint.
            let told = turn.finish();
            Step { notices: told.notices, totals: Some(told.totals), ..Step::default() }
        };
        let ending = Ending::new(Outcome::Success, None);
        self.commit(Command::Finish { step, ending }).await.map(drop)
    }
}

/// The end of a compaction that failed. It says nothing of the thread's title, which a compaction does not make.
fn failed(why: &str) -> Stop {
    Stop::End(Ending::new(Outcome::Error, Some(why)))
}

const fn kept(keep: Keep) -> pudu_config::Keep {
    match keep {
        Keep::Messages(count) => pudu_config::Keep::Messages(count),
        Keep::Tokens(most) => pudu_config::Keep::Tokens(most),
    }
}
