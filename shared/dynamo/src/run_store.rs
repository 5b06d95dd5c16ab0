//! Runs, their checkpoints and what they tell, in the table.

mod plan;
mod reading;
mod stream;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use pudu_app::ports::{Applied, ConversationKept, Record, RecordQuery, RunStore, StoreError, ToldPage};
use pudu_domain::conversation::Kept;
use pudu_domain::run::{Change, Checkpoint};
use pudu_domain::{
    Conversation, Lane, Lease, Run, RunId, RunKey, RunSpec, ThreadId, ThreadKey, Timestamp, UserId,
};

use crate::durable_row::Claim;
use crate::item::{conversation, run, run_keyed, run_spec, secret};
use crate::key::{Key, shard_of_run};
use crate::retry::Answer;
use crate::table::Table;
use plan::Plan;

#[async_trait]
impl RunStore for Table {
    async fn claim(&self, key: &RunKey, lease: Lease) -> Result<Option<Run>, StoreError> {
        self.claim_row(Claim {
            operation: "claim_run",
            key: Key::Run(key.clone()),
            shard: shard_of_run(&key.id),
            lane: Lane::Run,
            lease,
            decode: run::decode,
        })
        .await
    }

    async fn load(&self, key: &RunKey) -> Result<Option<Run>, StoreError> {
        self.get("load_run", &Key::Run(key.clone()), true).await?.as_ref().map(run::decode).transpose()
    }

    async fn spec(&self, key: &RunKey) -> Result<Option<RunSpec>, StoreError> {
        const OPERATION: &str = "load_run_spec";
        let key = Key::RunSpec(key.clone());
        // Half the price first: it is written once, and only in its first moment not seen by everybody.
        let row = match self.get(OPERATION, &key, false).await? {
            None => self.get(OPERATION, &key, true).await?,
            found => found,
        };
        row.as_ref().map(run_spec::decode).transpose()
    }

    async fn secrets(&self, key: &RunKey) -> Result<Option<String>, StoreError> {
        let row = self.get("load_run_secrets", &Key::Secret(key.clone()), true).await?;
        row.as_ref().map(secret::decode).transpose()
    }

    async fn by_key(&self, user: &UserId, digest: &str) -> Result<Option<(RunKey, String)>, StoreError> {
        let key = Key::RunKeyed { user: user.clone(), digest: digest.to_owned() };
        self.get("load_run_key", &key, true).await?.as_ref().map(run_keyed::decode).transpose()
    }

    async fn conversation(&self, thread: &ThreadKey) -> Result<Option<Conversation>, StoreError> {
        let row = self.get("load_conversation", &Key::Conversation(thread.clone()), true).await?;
        row.as_ref().map(conversation::decode).transpose()
    }

    async fn commit(&self, change: &Change) -> Result<Applied, StoreError> {
        const OPERATION: &str = "commit_run";
        let plan = Plan::of(change).map_err(|error| error.refused(OPERATION))?;
        match self.write(OPERATION, &plan.writes).await? {
            Answer::Done(()) => Ok(Applied::Done),
            Answer::Failed(failed) => plan.judge(change, &failed),
        }
    }

    async fn keep(
        &self,
        kept: &Kept,
        checkpoint: Option<&Checkpoint>,
    ) -> Result<ConversationKept, StoreError> {
        const OPERATION: &str = "keep_conversation";
        let writes = plan::keeping(kept, checkpoint).map_err(|error| error.refused(OPERATION))?;
        match self.write(OPERATION, &writes).await? {
            Answer::Done(()) => Ok(ConversationKept::Done),
            Answer::Failed(failed) => plan::judge_keeping(kept, &failed),
        }
    }

    async fn checkpoints(&self, run: &RunKey, number: u32) -> Result<Vec<Checkpoint>, StoreError> {
        self.chain(run, number).await
    }

    async fn history(&self, run: &RunKey, number: u32, limit: usize) -> Result<Vec<Checkpoint>, StoreError> {
        self.checkpoints_before(run, number, limit).await
    }

    async fn frames(&self, run: &RunKey, after: u64, limit: usize) -> Result<ToldPage, StoreError> {
        self.frames_after(run, after, limit).await
    }

    async fn records(&self, thread: &ThreadKey, query: &RecordQuery) -> Result<Vec<Record>, StoreError> {
        self.records_of(thread, query).await
    }

    async fn runs(
        &self,
        thread: &ThreadKey,
        limit: usize,
        before: Option<&RunId>,
    ) -> Result<Vec<(Run, RunSpec)>, StoreError> {
        self.newest_runs(thread, limit, before).await
    }

    async fn conversations(
        &self,
        user: &UserId,
        limit: usize,
        before: Option<&(Timestamp, ThreadId)>,
    ) -> Result<Vec<Conversation>, StoreError> {
        self.conversations_of(user, limit, before).await
    }
}
