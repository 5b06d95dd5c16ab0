//! What is the same for every durable row: the claim, the quarantine of a row that does not decode, and the judgement of a
//! failed commit.

use aws_sdk_dynamodb::types::AttributeValue;
use pudu_app::ports::{Committed, StoreError};
use pudu_domain::{Expect, Lane, Lease, Verdict};

use crate::classify::BoxError;
use crate::item::durable;
use crate::key::{Key, due_pk, parse_due_pk};
use crate::retry::{Answer, Failed};
use crate::row::{Row, attr, number};
use crate::table::{Table, Updated};
use crate::write::{Update, When};

#[cfg(test)]
mod tests;

/// Which row, and how it reads.
pub(crate) struct Claim<T> {
    pub(crate) operation: &'static str,
    pub(crate) key: Key,
    /// Where the index has it.
    pub(crate) shard: u8,
    pub(crate) lane: Lane,
    pub(crate) lease: Lease,
    pub(crate) decode: fn(&Row) -> Result<T, StoreError>,
}

impl Table {
    /// Takes the row, or none if it may not be taken. It touches neither `due_pk` nor `due_at`, so the index is not
    /// written: that keeps a poll at 4 write units.
    pub(crate) async fn claim_row<T: Send>(&self, claim: Claim<T>) -> Result<Option<T>, StoreError> {
        let lane = due_pk(claim.lane, claim.shard);
        let owner = claim.lease.owner.as_str().to_owned();
        let update = Update {
            key: claim.key.clone(),
            set: "SET #lo = :lo, #lu = :lu, #gen = #gen + :one",
            names: vec![attr::LEASE_OWNER, attr::LEASE_UNTIL, attr::GENERATION],
            values: vec![
                (":lo", AttributeValue::S(owner.clone())),
                (":lu", number(claim.lease.until.as_millis())),
                (":one", number(1_u64)),
            ],
            when: When::Claimable { due_pk: lane.clone() },
        };
        let row = match self.update(claim.operation, &update).await? {
            Answer::Done(Updated::Row(row)) => row,
            Answer::Done(Updated::Unfit(source)) => return self.put_away_unfit(claim, lane, source).await,
            Answer::Failed(failed) => match failed.row(0) {
                // Won all the same: the lease is this very claim's, the answer of an earlier attempt was lost.
                Some(row) if is_owned(row, &owner) => row.clone(),
                _ => return Ok(None),
            },
        };
        match (claim.decode)(&row) {
            Ok(item) => Ok(Some(item)),
            Err(corrupt) => {
                let fence = "SET #due_pk = :corrupt, #due_at = :at, #gen = #gen + :one REMOVE #lo, #lu";
                self.quarantine(claim.key, claim.shard, fence, When::ClaimedBy { owner }).await?;
                Err(corrupt)
            }
        }
    }

    /// The condition held, but the row has no generation to raise: it can never be claimed, so it is put away unclaimed.
    async fn put_away_unfit<T>(
        &self,
        claim: Claim<T>,
        lane: String,
        source: BoxError,
    ) -> Result<Option<T>, StoreError> {
        let Some(row) = self.get(claim.operation, &claim.key, true).await? else { return Ok(None) };
        let Err(corrupt) = (claim.decode)(&row) else {
            return Err(StoreError::Refused { operation: claim.operation, source });
        };
        let fence = "SET #due_pk = :corrupt, #due_at = :at REMOVE #lo, #lu";
        self.quarantine(claim.key, claim.shard, fence, When::WaitingIn { due_pk: lane }).await?;
        Err(corrupt)
    }

    /// Moves a row that does not decode to lane `corrupt`, where an operator finds it. Names only lane, due time, lease
    /// and generation: whatever else the row holds is evidence.
    async fn quarantine(&self, key: Key, shard: u8, set: &'static str, when: When) -> Result<(), StoreError> {
        const OPERATION: &str = "quarantine";
        let raises = matches!(when, When::ClaimedBy { .. });
        let mut values = vec![
            (":corrupt", AttributeValue::S(due_pk(Lane::Corrupt, shard))),
            (":at", number(self.clock.now().as_millis())),
        ];
        let mut names = vec![attr::DUE_PK, attr::DUE_AT, attr::LEASE_OWNER, attr::LEASE_UNTIL];
        if raises {
            values.push((":one", number(1_u64)));
            names.push(attr::GENERATION);
        }
        let told = key.to_string();
        match self.update(OPERATION, &Update { key, set, names, values, when }).await? {
            Answer::Done(Updated::Row(_)) => log_put_aside(&told),
            Answer::Done(Updated::Unfit(source)) => {
                return Err(StoreError::Refused { operation: OPERATION, source });
            }
            // It is there: most likely by the attempt whose answer was lost. Told twice is better than never.
            Answer::Failed(failed) if failed.retried && failed.row(0).is_some_and(is_put_aside) => {
                log_put_aside(&told);
            }
            // Somebody else has the row now, and the same trouble with it.
            Answer::Failed(_) => {}
        }
        Ok(())
    }
}

/// An alarm counts lines with exactly this message (template.yaml), so it is one that nothing else logs.
fn log_put_aside(key: &str) {
    tracing::error!(store.key = key, "a row was put aside");
}

fn is_put_aside(row: &Row) -> bool {
    let lane = |partition: &str| parse_due_pk(partition).map(|(lane, _)| lane);
    matches!(row.get(attr::DUE_PK), Some(AttributeValue::S(partition)) if lane(partition) == Some(Lane::Corrupt))
}

fn is_owned(row: &Row, owner: &str) -> bool {
    matches!(row.get(attr::LEASE_OWNER), Some(AttributeValue::S(stored)) if stored == owner)
}

/// What a failed condition on a durable row means for its writer.
pub(crate) fn judge(
    item: &'static str,
    expect: &Expect,
    element: usize,
    failed: &Failed,
) -> Result<Committed, StoreError> {
    let stored = failed.row(element).map(|row| durable::of_image(item, row)).transpose()?;
    Ok(match expect.judge(stored.as_ref(), failed.retried, failed.now) {
        Verdict::Done => Committed::Done,
        Verdict::Lost => Committed::Lost,
        Verdict::Woken => Committed::Woken,
        Verdict::Unknown => Committed::Unknown,
    })
}
