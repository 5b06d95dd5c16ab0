//! The end of a run: what is left to do behind its last step, and how it ended.

use std::sync::Arc;

use pudu_domain::run::{Ending, Outcome};

use super::aside::Beside;
use super::progress::Progress;
use super::session::{Session, Stop};
use crate::turn::Turn;

impl Session {
    /// How a run ends whose model wants nothing more.
    pub(super) async fn ending(&mut self) -> Result<Ending, Stop> {
        let progress = Progress::of(&self.state);
        let parts = Arc::clone(&self.parts);
        let (spec, options, run) = (Arc::clone(&self.spec), Arc::clone(&self.options), self.run.clone());
        let chain = self.chain().to_vec();
        if let Ok(chosen) = self.chosen().await? {
            let mut turn = Turn::new(&run, &spec, &options, self.state.clone(), self.now());
            let aside = Beside { parts: &parts, run: &run, entry: &chosen.entry };
            self.watched(async {
                for middleware in chain.iter().rev() {
                    middleware.after_run(&mut turn, &aside).await;
                }
            })
            .await?;
            if turn.has_changed() {
                self.keep(turn, &[], true).await?;
            }
        }
        let outcome = if progress.failed.is_some() { Outcome::Error } else { Outcome::Success };
        let ending = Ending::new(outcome, progress.failed.as_deref());
        Ok(Ending { stop_reason: progress.stopped, title: self.state.title.clone(), ..ending })
    }

    /// A run that cannot go on.
    pub(super) fn failed(&self, why: &str) -> Stop {
        Stop::End(Ending { title: self.state.title.clone(), ..Ending::new(Outcome::Error, Some(why)) })
    }
}
