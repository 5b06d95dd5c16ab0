//! The records of changes: kept as they were written last, listed from the newest, gone after their time.

use std::time::Duration;

use pudu_app::ports::{AUDIT_KEPT, AuditRecord, Outcome};
use pudu_domain::{CredentialTag, Timestamp, UserId};

use super::life::fail;
use super::{Case, World, cases};

pub(super) const CASES: &[Case] = cases![
    nothing_was_changed_yet,
    a_record_comes_back_as_it_was_written_last,
    the_newest_come_first_and_a_list_goes_on_where_another_ended,
    a_long_history_is_listed_whole,
    a_record_is_kept_for_its_time,
];

fn record(at: Timestamp, last: u8) -> AuditRecord {
    let text = "a fixture's own text is valid";
    AuditRecord {
        id: format!("{:012x}{last:020x}", at.as_millis()),
        at,
        user: UserId::parse("key:größer").unwrap_or_else(|_| unreachable!("{text}")),
        tag: CredentialTag::parse("k1").unwrap_or_else(|_| unreachable!("{text}")),
        action: "config.put".to_owned(),
        target: format!("server {last}"),
        outcome: Outcome::Requested,
    }
}

async fn put(world: &World, record: &AuditRecord) {
    world.audit.put(record).await.unwrap_or_else(|e| fail(&e));
}

async fn list(world: &World, limit: usize, before: Option<&str>) -> Vec<AuditRecord> {
    world.audit.list(limit, before).await.unwrap_or_else(|e| fail(&e))
}

async fn nothing_was_changed_yet(world: World) {
    assert_eq!(list(&world, 10, None).await, []);
    assert_eq!(list(&world, 10, Some("f")).await, []);
}

async fn a_record_comes_back_as_it_was_written_last(world: World) {
    let asked = record(world.now(), 1);
    put(&world, &asked).await;
    put(&world, &asked).await;
    assert_eq!(list(&world, 10, None).await, std::slice::from_ref(&asked));
    for outcome in [Outcome::Done, Outcome::Failed { reason: "no \"such\" server".to_owned() }] {
        let known = AuditRecord { outcome, ..asked.clone() };
        put(&world, &known).await;
        assert_eq!(list(&world, 10, None).await, [known]);
    }
}

async fn the_newest_come_first_and_a_list_goes_on_where_another_ended(world: World) {
    let at = world.now().as_millis();
    // Two and two of one moment.
    let [first, second, third, fourth, fifth] =
        [0, 1, 2, 3, 4].map(|n| record(Timestamp::from_millis(at + u64::from(n) / 2), n));
    for record in [&fourth, &first, &fifth, &second, &third] {
        put(&world, record).await;
    }
    assert_eq!(list(&world, 2, Some(&fourth.id)).await, [third.clone(), second.clone()]);
    assert_eq!(list(&world, 2, Some(&second.id)).await, std::slice::from_ref(&first));
    assert_eq!(list(&world, 2, Some(&first.id)).await, []);
    assert_eq!(list(&world, 0, None).await, []);
    assert_eq!(list(&world, 2, None).await, [fifth.clone(), fourth.clone()]);
    assert_eq!(list(&world, 10, None).await, [fifth, fourth, third, second, first]);
}

/// More than one answer of a real table holds.
async fn a_long_history_is_listed_whole(world: World) {
    let at = world.now();
    let long = |n| AuditRecord {
        outcome: Outcome::Failed { reason: "r".repeat(60_000) },
        ..record(Timestamp::from_millis(at.as_millis() + u64::from(n)), n)
    };
    for n in 0..40 {
        put(&world, &long(n)).await;
    }
    let found = list(&world, 100, None).await;
    assert_eq!(found.len(), 40);
    assert!(found.into_iter().zip((0..40).rev()).all(|(found, n)| found == long(n)));
}

async fn a_record_is_kept_for_its_time(world: World) {
    let (old, young) = (record(world.now(), 1), record(world.now() + AUDIT_KEPT / 2, 2));
    let end = old.at + AUDIT_KEPT;
    put(&world, &old).await;
    put(&world, &young).await;
    world.clock.set(end);
    assert_eq!(list(&world, 10, None).await, [young.clone(), old]);
    world.clock.set(end + Duration::from_secs(2));
    assert_eq!(list(&world, 10, None).await, [young], "also when nothing has removed the row yet");
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use pudu_app::ports::{AuditLog, StoreError};

    use super::super::{Suite, fake_world};
    use super::*;
    use crate::lock::lock;

    /// Ways to keep records wrongly.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Wrong {
        /// The outcome is one record more.
        Appends,
        /// The oldest come first.
        OldestFirst,
        /// The record that a list ended with is in the next one again.
        Repeats,
        /// There is no end to a list.
        ForgetsTheLimit,
        /// A record is kept for ever.
        KeepsForEver,
    }

    struct WrongLog(Wrong, Mutex<Vec<AuditRecord>>);

    #[async_trait]
    impl AuditLog for WrongLog {
        async fn put(&self, record: &AuditRecord) -> Result<(), StoreError> {
            let mut all = lock(&self.1);
            if self.0 != Wrong::Appends {
                all.retain(|kept| kept.id != record.id);
            }
            all.push(record.clone());
            Ok(())
        }

        async fn list(&self, limit: usize, before: Option<&str>) -> Result<Vec<AuditRecord>, StoreError> {
            let mut all = lock(&self.1).clone();
            all.sort_by(|a, b| b.id.cmp(&a.id));
            if self.0 == Wrong::OldestFirst {
                all.reverse();
            }
            let repeats = self.0 == Wrong::Repeats;
            all.retain(|kept| before.is_none_or(|id| kept.id.as_str() < id || repeats && kept.id == id));
            all.truncate(if self.0 == Wrong::ForgetsTheLimit { usize::MAX } else { limit });
            Ok(all)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_wrong_way_to_keep_records_fails_a_case() {
        let suite = Suite { port: "audit_log", parts: &[CASES] };
        for wrong in
            [Wrong::Appends, Wrong::OldestFirst, Wrong::Repeats, Wrong::ForgetsTheLimit, Wrong::KeepsForEver]
        {
            let world = || World { audit: Arc::new(WrongLog(wrong, Mutex::default())), ..fake_world(None) };
            assert!(!suite.failures(async || world()).await.is_empty(), "{wrong:?} passes every case");
        }
    }
}
