//! Waiting for something slow while the run may be taken away: the own row is looked at each second, and kept.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use pudu_app::chain::Chain;
use pudu_domain::run::{Command, Ending, Origin, Outcome, Step};

use super::session::{Session, Stop};

/// How often the own row is looked at.
pub(super) const LOOK: Duration = Duration::from_secs(1);
/// What is kept of an invocation to hand over what is under way.
pub(super) const MARGIN: Duration = Duration::from_secs(8);

impl Session {
    /// Does `work`, unless the run ends beside it, is taken away, or there is no time left.
    pub(super) async fn watched<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Stop> {
        let clock = Arc::clone(&self.parts.clock);
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                () = clock.sleep(LOOK) => self.look().await?,
            }
        }
    }

    /// Looks at the own row. A table that does not answer is no reason to stop: the next commit finds out.
    pub(super) async fn look(&mut self) -> Result<(), Stop> {
        self.overdue()?;
        if self.deadline.remaining(self.now()) < MARGIN {
            return Err(Stop::Late);
        }
        match self.parts.runs.load(&self.run.key).await {
            Ok(Some(row)) if self.holds(&row) => self.run = row,
            Ok(_) => return Err(Stop::Gone),
            Err(error) => {
                tracing::debug!(run.id = %self.run.key.id, error = %Chain(&error), "the own row could not be looked at");
                return Ok(());
            }
        }
        self.orphaned().await?;
        self.prolong().await
    }

    /// Keeps the run where half of the lease is over; finds out whether it is held any more where all of it is.
    pub(super) async fn prolong(&mut self) -> Result<(), Stop> {
        let left = self.run.durable.lease.as_ref().map_or(Duration::ZERO, |it| it.until.since(self.now()));
        if left < self.parts.limits.lease / 2 {
            let lease = self.lease();
            self.commit(Command::Advance { step: Step::default(), lease }).await?;
        }
        Ok(())
    }

    /// A child ends with its parent.
    pub(super) async fn orphaned(&self) -> Result<(), Stop> {
        let Origin::Child { parent, .. } = &self.run.origin else { return Ok(()) };
        match self.parts.runs.load(&self.run.key.beside(parent.clone())).await {
            Ok(Some(parent)) if parent.end().is_none() => Ok(()),
            Ok(_) => {
                let why = "the run that delegated this has ended";
                Err(Stop::End(Ending::new(Outcome::Interrupted, Some(why))))
            }
            Err(_) => Ok(()),
        }
    }
}
