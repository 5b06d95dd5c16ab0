//! The beacons of the background functions: a row each, written only by conditional updates of single attributes.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use pudu_app::ports::{Awake, Background, Beacon, Beacons, Raised, StoreError};
use pudu_domain::{Owner, Timestamp};

use crate::item::beacon::{self, ENDS, KNOCKS, SEEN};
use crate::key::Key;
use crate::retry::Answer;
use crate::row::{FORMAT, attr, number};
use crate::table::{Table, Updated};
use crate::write::{Update, When};

impl Table {
    /// Lowers every beacon, whoever raised it: for the only process that has this table, when it starts. One that was killed
    /// left its own up, and it would be waited for.
    pub async fn lower_beacons(&self) -> Result<(), StoreError> {
        for function in Background::ALL {
            if let Some(awake) = self.look(function).await?.awake {
                self.lower(function, &awake.holder).await?;
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Beacons for Table {
    async fn raise(
        &self,
        function: Background,
        awake: &Awake,
        relieves: Option<Timestamp>,
    ) -> Result<Raised, StoreError> {
        let owner = awake.holder.as_str().to_owned();
        let update = Update {
            key: Key::Beacon(function),
            set: "SET #lo = :lo, #lu = :lu, #ends = :ends, #seen = :seen, #knocks = if_not_exists(#knocks, :none), #v = :v",
            names: vec![attr::LEASE_OWNER, attr::LEASE_UNTIL, ENDS, SEEN, KNOCKS, attr::FORMAT],
            values: vec![
                (":lo", AttributeValue::S(owner.clone())),
                (":lu", number(awake.until.as_millis())),
                (":ends", number(awake.ends.as_millis())),
                (":seen", number(self.now().as_millis())),
                (":none", number(0_u64)),
                (":v", number(FORMAT)),
            ],
            when: When::Dark { owner, relieves },
        };
        match self.update("raise_beacon", &update).await? {
            Answer::Done(Updated::Row(row)) => Ok(Raised::Ours { knocks: beacon::decode(&row)?.knocks }),
            Answer::Done(Updated::Unfit(source)) => {
                Err(StoreError::Refused { operation: "raise_beacon", source })
            }
            Answer::Failed(_) => Ok(Raised::Theirs),
        }
    }

    async fn lower(&self, function: Background, holder: &Owner) -> Result<(), StoreError> {
        let update = Update {
            key: Key::Beacon(function),
            // The count stays: whoever is awake next compares with it.
            set: "SET #seen = :seen REMOVE #lo, #lu, #ends",
            names: vec![attr::LEASE_OWNER, attr::LEASE_UNTIL, ENDS, SEEN],
            values: vec![(":seen", number(self.now().as_millis()))],
            when: When::ClaimedBy { owner: holder.as_str().to_owned() },
        };
        self.update("lower_beacon", &update).await.map(drop)
    }

    async fn knock(&self, function: Background) -> Result<bool, StoreError> {
        let update = Update {
            key: Key::Beacon(function),
            set: "SET #knocks = #knocks + :one",
            names: vec![KNOCKS],
            values: vec![(":one", number(1_u64))],
            when: When::Lit,
        };
        match self.update("knock", &update).await? {
            Answer::Done(Updated::Row(_)) => Ok(true),
            Answer::Done(Updated::Unfit(source)) => Err(StoreError::Refused { operation: "knock", source }),
            Answer::Failed(_) => Ok(false),
        }
    }

    async fn look(&self, function: Background) -> Result<Beacon, StoreError> {
        let row = self.get("look_at_beacon", &Key::Beacon(function), false).await?;
        row.as_ref().map_or_else(|| Ok(Beacon::default()), beacon::decode)
    }
}
