use std::time::Duration;

use proptest::prelude::*;

use super::*;

const L: Duration = Duration::from_mins(2);

fn at(secs: u64) -> Timestamp {
    Timestamp::from_millis(secs * 1000)
}

fn lease(owner: &str, until: u64) -> Lease {
    Lease { owner: Owner::stored(owner.into()), until: at(until) }
}

fn due(lane: Lane, secs: u64) -> Due {
    Due { lane, at: at(secs) }
}

fn waiting() -> Durable {
    Durable { due: Some(due(Lane::Poll, 10)), ..Durable::default() }
}

#[test]
fn only_the_wanted_lane_may_claim_and_not_early() {
    let item = waiting();
    assert!(!item.claimable(Lane::Poll, at(9)));
    assert!(item.claimable(Lane::Poll, at(10)));
    assert!(!item.claimable(Lane::Cancel, at(10)));
    assert!(!Durable::default().claimable(Lane::Poll, at(10)));
}

/// Vector 65: at the exact instant the holder may write and nobody may claim.
#[test]
fn a_lease_ends_after_its_last_instant() {
    let held = waiting().claimed(lease("a", 130));
    for (now, claimable, holds) in [(129, false, true), (130, false, true), (131, true, false)] {
        assert_eq!(held.claimable(Lane::Poll, at(now)), claimable, "{now}");
        assert_eq!(held.held().holds(Some(&held), at(now)), holds, "{now}");
    }
}

#[test]
fn lost_lease_cannot_commit_even_when_nobody_took_over() {
    let held = waiting().claimed(lease("a", 130));
    assert!(!held.held().holds(Some(&held), at(131)));
    assert_eq!(held.held().judge(Some(&held), false, at(131)), Verdict::Lost);
}

#[test]
fn a_fence_makes_the_result_in_flight_worthless() {
    let held = waiting().claimed(lease("a", 130));
    let fenced = held.fenced(Some(due(Lane::Cancel, 11)));
    assert!(!held.held().holds(Some(&fenced), at(12)));
    assert_eq!(held.held().judge(Some(&fenced), false, at(12)), Verdict::Lost);
}

#[test]
fn a_commit_whose_answer_was_lost_recognises_itself() {
    let held = waiting().claimed(lease("a", 130));
    let committed = held.committed(Some(due(Lane::Poll, 20)));
    assert_eq!(held.held().judge(Some(&committed), true, at(12)), Verdict::Done);
    let retaken = committed.claimed(lease("b", 150));
    assert_eq!(held.held().judge(Some(&retaken), true, at(30)), Verdict::Unknown);
}

#[test]
fn a_birth_whose_answer_was_lost_recognises_itself() {
    let born = Durable::leased(Due { lane: Lane::Intent, at: at(60) }, lease("a", 60));
    let expect = Expect::Absent { owner: Some(Owner::stored("a".into())) };
    assert_eq!(expect.judge(Some(&born), true, at(1)), Verdict::Done);
    let other = Expect::Absent { owner: Some(Owner::stored("b".into())) };
    assert_eq!(other.judge(Some(&born), false, at(1)), Verdict::Lost);
}

#[test]
fn a_holder_that_was_woken_decides_again() {
    let held = waiting().claimed(lease("a", 130));
    assert_eq!(held.held().judge(Some(&held.woken()), false, at(20)), Verdict::Woken);
}

#[test]
fn a_reader_sees_a_commit_that_happened_meanwhile() {
    let held = waiting().claimed(lease("a", 130));
    let committed = held.committed(None);
    assert!(held.unchanged().holds(Some(&held), at(20)));
    assert!(!held.unchanged().holds(Some(&committed), at(20)));
}

#[derive(Debug, Clone)]
enum Step {
    Claim(u8),
    Commit,
    Fence,
    Wake,
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..3_u8).prop_map(Step::Claim),
        Just(Step::Commit),
        Just(Step::Fence),
        Just(Step::Wake),
        (1..200_u64).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    /// Of all images that anybody ever held, at most the newest can still commit.
    #[test]
    fn at_most_one_holder_can_commit(steps in steps()) {
        let (mut row, mut now, mut held) = (waiting(), at(10), Vec::<Durable>::new());
        for step in steps {
            match step {
                Step::Claim(worker) if row.claimable(Lane::Poll, now) => {
                    row = row.claimed(Lease { owner: Owner::new(&format!("w{worker}"), 1), until: now + L });
                    held.push(row.clone());
                }
                Step::Commit if held.last().is_some_and(|h| h.held().holds(Some(&row), now)) => {
                    row = row.committed(row.due);
                }
                Step::Fence => row = row.fenced(row.due),
                Step::Wake => row = row.woken(),
                Step::Pass(secs) => now = now + Duration::from_secs(secs),
                Step::Claim(_) | Step::Commit => {}
            }
            let able = held.iter().filter(|h| h.held().holds(Some(&row), now)).count();
            prop_assert!(able <= 1);
        }
    }
}
