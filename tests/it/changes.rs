//! Nothing administrative happens without its record: before it, after it, and when the records cannot be written.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex};

use acceptance::ports::wired;
use pudu_app::audit::{Audit, AuditError};
use pudu_app::ports::{AuditLog, AuditRecord, Outcome};
use pudu_domain::{CredentialTag, Principal, Role, Scope, UserId};
use pudu_testkit::gate::{Call, Open};
use pudu_testkit::server::Plan;
use pudu_testkit::{FakeServer, FakeTable, Fate, Gate, Trace, VirtualClock};

#[derive(Debug, Clone, PartialEq)]
struct NoSuchThing(Why);

#[derive(Debug, Clone, PartialEq)]
struct Why;

impl fmt::Display for NoSuchThing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no such thing")
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it went before")
    }
}

impl Error for Why {}

impl Error for NoSuchThing {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

struct Office {
    table: FakeTable,
    audit: Audit,
    log: Arc<dyn AuditLog>,
}

/// Records whose writes meet the fates that `script` gives.
fn office(script: impl FnMut(Call<'_>) -> Fate + Send + 'static) -> Office {
    let (clock, table) = (VirtualClock::start(), FakeTable::new());
    let server =
        FakeServer::new(Arc::new(clock), |_| Plan::completes_after(std::time::Duration::from_secs(1)));
    let gate = |script| Gate::new("gateway", Arc::new(clock), Trace::hashed(), script);
    let audit = wired(clock, &table, &server, &gate(script)).audit();
    let log =
        Arc::new(table.store(Arc::new(clock), Gate::new("looks", Arc::new(clock), Trace::hashed(), Open)));
    Office { table, audit, log }
}

impl Office {
    async fn records(&self) -> Vec<AuditRecord> {
        self.log.list(100, None).await.unwrap()
    }

    /// What the record says while its change is being made; made or not as `result` says.
    async fn change(
        &self,
        result: Result<u8, NoSuchThing>,
    ) -> (Option<Outcome>, Result<u8, AuditError<NoSuchThing>>) {
        let seen = Mutex::new(None);
        let change = async {
            *seen.lock().unwrap() = self.records().await.pop().map(|record| record.outcome);
            result
        };
        let changed = self.audit.change(&who(), "config.put", "server a", change).await;
        (seen.into_inner().unwrap(), changed)
    }
}

fn who() -> Principal {
    let user = UserId::parse("key:ann").unwrap();
    Principal { user, role: Role::Admin, tag: CredentialTag::parse("k1").unwrap(), scope: Scope::All }
}

#[tokio::test(start_paused = true)]
async fn a_change_is_recorded_before_it_is_made_and_completed_after_it() {
    let office = office(|_| Fate::Pass);
    let (seen, changed) = office.change(Ok(7)).await;
    assert_eq!((seen, changed.unwrap()), (Some(Outcome::Requested), 7));
    let [record] = &office.records().await[..] else { panic!("one change is one record") };
    assert_eq!((record.user.as_str(), record.tag.as_str()), ("key:ann", "k1"));
    assert_eq!((record.action.as_str(), record.target.as_str()), ("config.put", "server a"));
    assert_eq!(record.outcome, Outcome::Done);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_fails_is_recorded_with_its_reason() {
    let office = office(|_| Fate::Pass);
    let (seen, changed) = office.change(Err(NoSuchThing(Why))).await;
    assert_eq!(seen, Some(Outcome::Requested));
    assert!(matches!(changed, Err(AuditError::Change(NoSuchThing(Why)))));
    let reason = "there is no such thing: it went before".to_owned();
    assert_eq!(office.records().await[0].outcome, Outcome::Failed { reason });
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_recorded_is_not_done() {
    for fate in [Fate::FailBefore, Fate::LoseAnswer] {
        let office = office(move |_| fate);
        let (seen, changed) = office.change(Ok(7)).await;
        assert!(seen.is_none(), "the change was made");
        assert!(matches!(changed, Err(AuditError::NotRecorded(_))), "{changed:?}");
        let left: Vec<Outcome> = office.records().await.into_iter().map(|record| record.outcome).collect();
        assert!(left.iter().all(|outcome| *outcome == Outcome::Requested), "{left:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_stands_when_its_outcome_cannot_be_recorded() {
    let office = office(|call| if call.number == 0 { Fate::Pass } else { Fate::FailBefore });
    let (_, changed) = office.change(Ok(7)).await;
    assert_eq!(changed.unwrap(), 7);
    assert_eq!(office.records().await[0].outcome, Outcome::Requested, "nobody knows");
}

#[tokio::test(start_paused = true)]
async fn a_change_whose_caller_went_away_leaves_its_request() {
    let office = office(|_| Fate::Pass);
    let (who, never) = (who(), std::future::pending::<Result<(), NoSuchThing>>());
    let change = office.audit.change(&who, "keys.create", "k2", never);
    assert!(tokio::time::timeout(std::time::Duration::from_secs(1), change).await.is_err());
    assert_eq!(office.records().await[0].outcome, Outcome::Requested);
}

#[tokio::test(start_paused = true)]
async fn changes_at_one_moment_are_records_of_their_own_and_long_words_are_cut() {
    let office = office(|_| Fate::Pass);
    let long = "ü".repeat(400_000);
    for _ in 0..3 {
        let change = async { Ok::<_, NoSuchThing>(()) };
        office.audit.change(&who(), "config.put", &long, change).await.unwrap();
    }
    let records = office.records().await;
    assert_eq!(records.len(), 3);
    assert!(records.iter().all(|record| record.target.len() < 2_000 && long.starts_with(&record.target)));
    assert!(office.table.tasks().is_empty());
}
