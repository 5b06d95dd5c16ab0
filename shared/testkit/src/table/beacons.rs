//! Who is awake, in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{Awake, Background, Beacon, Beacons, Raised, StoreError};
use pudu_domain::{Owner, Timestamp};

use super::FakeStore;

#[async_trait]
impl Beacons for FakeStore {
    async fn raise(
        &self,
        function: Background,
        awake: &Awake,
        relieves: Option<Timestamp>,
    ) -> Result<Raised, StoreError> {
        self.attempt("beacons.raise", |rows, attempt| {
            let beacon = rows.beacons.entry(function).or_default();
            if !beacon.may_raise(&awake.holder, attempt.now, relieves) {
                return Ok(Raised::Theirs);
            }
            beacon.awake = Some(awake.clone());
            beacon.seen = Some(attempt.now);
            Ok(Raised::Ours { knocks: beacon.knocks })
        })
        .await
    }

    async fn lower(&self, function: Background, holder: &Owner) -> Result<(), StoreError> {
        self.attempt("beacons.lower", |rows, attempt| {
            let beacon = rows.beacons.entry(function).or_default();
            if beacon.awake.as_ref().is_some_and(|awake| awake.holder == *holder) {
                beacon.awake = None;
                beacon.seen = Some(attempt.now);
            }
            Ok(())
        })
        .await
    }

    async fn knock(&self, function: Background) -> Result<bool, StoreError> {
        self.attempt("beacons.knock", |rows, attempt| {
            let live = rows.beacons.get_mut(&function).filter(|beacon| beacon.is_live(attempt.now));
            Ok(live.map(|beacon| beacon.knocks += 1).is_some())
        })
        .await
    }

    async fn look(&self, function: Background) -> Result<Beacon, StoreError> {
        self.attempt("beacons.look", |rows, _| Ok(rows.beacons.get(&function).cloned().unwrap_or_default()))
            .await
    }
}
