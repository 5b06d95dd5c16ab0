//! The end of a run: what is left to do behind its last step, and how it ended.

use std::sync::Arc;

use pudu_domain::run::{Ending, Outcome};

use super::aside::Beside;
use super::progress::{NAME, Progress};
use super::session::{Session, Stop};
use crate::middleware::Flow;
use crate::turn::Turn;

impl Session {
    /// Whether whoever stands around the steps has a run go on whose model wants nothing more. What they made of the answer is
    /// committed, and so is that it goes on.
    pub(super) async fn goes_on(&mut self) -> Result<bool, Stop> {
        let mut progress = Progress::of(&self.state);
        if progress.is_cut_short() || progress.steps >= self.limit() {
            return Ok(false);
        }
        let parts = Arc::clone(&self.parts);
        let (spec, options, run) = (Arc::clone(&self.spec), Arc::clone(&self.options), self.run.clone());
        let chain = self.chain().to_vec();
        let chosen = self.chosen().await?.ok();
        let mut turn = Turn::new(&run, &spec, &options, self.state.clone(), self.now());
        let entry = chosen.as_ref().map(|chosen| &chosen.entry);
        let aside = Beside { parts: &parts, run: &run, entry };
        let again = self.watched(async {
            for middleware in &chain {
                match middleware.before_end(&mut turn, &aside).await {
                    Flow::Go => {}
                    flow => return flow == Flow::Again,
                }
            }
            false
        });
        let again = again.await?;
        if again {
            progress.again = true;
            turn.count(NAME, &progress);
        }
        if turn.has_changed() {
            self.keep(turn, &[], true).await?;
        }
        Ok(again)
    }

    /// How a run ends whose model wants nothing more.
    pub(super) async fn ending(&mut self) -> Result<Ending, Stop> {
        let progress = Progress::of(&self.state);
        let parts = Arc::clone(&self.parts);
        let (spec, options, run) = (Arc::clone(&self.spec), Arc::clone(&self.options), self.run.clone());
        let chain = self.chain().to_vec();
        let chosen = self.chosen().await?.ok();
        let mut turn = Turn::new(&run, &spec, &options, self.state.clone(), self.now());
        let entry = chosen.as_ref().map(|chosen| &chosen.entry);
        let aside = Beside { parts: &parts, run: &run, entry };
        self.watched(async {
            for middleware in chain.iter().rev() {
                middleware.after_run(&mut turn, &aside).await;
            }
        })
        .await?;
        if turn.has_changed() {
            self.keep(turn, &[], true).await?;
        }
        let outcome = if progress.failed.is_some() { Outcome::Error } else { Outcome::Success };
        let ending = Ending::new(outcome, progress.failed.as_deref());
        let (stop_reason, title, aside) = (progress.stopped, self.state.title.clone(), self.aside());
        Ok(Ending { stop_reason, title, aside, ..ending })
    }

    /// A run that cannot go on.
    pub(super) fn failed(&self, why: &str) -> Stop {
        Stop::End(Ending { title: self.state.title.clone(), ..Ending::new(Outcome::Error, Some(why)) })
    }
}
