mod race;

use proptest::prelude::*;

use super::*;
use crate::durable::Owner;

const NOW: Timestamp = Timestamp::from_millis(1_793_491_200_000);
const SKEW: Duration = Duration::from_secs(60);

fn after(seconds: u64) -> Timestamp {
    NOW + Duration::from_secs(seconds)
}

fn access(sealed: &str, left: u64) -> Access {
    let hour_ago = Timestamp::from_millis(NOW.as_millis() - 3_600_000);
    Access { sealed: Sealed::new(sealed.to_owned()), granted_at: hour_ago, expires_at: after(left) }
}

fn held_until(seconds: u64) -> Lease {
    Lease { owner: Owner::new("w", 1), until: after(seconds) }
}

fn grant(sealed: &str, refresh: Option<&str>) -> Grant {
    Grant { access: access(sealed, 3600), refresh: refresh.map(|text| Sealed::new(text.to_owned())) }
}

/// Every combination of what is left of the token, who holds the row, and what stands in the way.
#[test]
fn the_plan_is_this_table() {
    let fresh = || Some(access("a", 61));
    let old = || Some(access("a", 60));
    let over = || Some(access("a", 0));
    let failing = |retry_at| Trouble::Failing { attempts: 1, retry_at, reason: "why".into() };
    let refused = || Trouble::Refused { reason: "no".into() };
    let backoff = Plan::Backoff { until: after(1), reason: "why" };
    let (used_fresh, used_old) = (access("a", 61), access("a", 60));
    let cases = [
        (None, None, Trouble::None, Plan::Refresh),
        (over(), None, Trouble::None, Plan::Refresh),
        (old(), None, Trouble::None, Plan::Refresh),
        (fresh(), None, Trouble::None, Plan::Use(&used_fresh)),
        (fresh(), Some(held_until(9)), Trouble::None, Plan::Use(&used_fresh)),
        (old(), Some(held_until(0)), Trouble::None, Plan::Use(&used_old)),
        (over(), Some(held_until(0)), Trouble::None, Plan::Wait(NOW)),
        (None, Some(held_until(9)), Trouble::None, Plan::Wait(after(9))),
        (None, None, failing(after(1)), backoff),
        (None, None, failing(NOW), Plan::Refresh),
        (old(), None, failing(after(1)), Plan::Use(&used_old)),
        (None, Some(held_until(9)), failing(after(1)), Plan::Wait(after(9))),
        (fresh(), None, refused(), Plan::Refused("no")),
        (None, Some(held_until(9)), refused(), Plan::Refused("no")),
    ];
    for (access, lease, trouble, plan) in cases {
        let token = Token { lease, access, trouble, ..Token::default() };
        assert_eq!(token.plan(NOW, SKEW), plan, "{token:?}");
    }
}

#[test]
fn a_token_that_lives_no_longer_than_the_skew_serves_half_of_its_life() {
    for lifetime in [60, 30] {
        let access = Access { granted_at: NOW, ..access("a", lifetime) };
        let token = Token { access: Some(access.clone()), ..Token::default() };
        assert_eq!(token.plan(after(lifetime / 2 - 1), SKEW), Plan::Use(&access));
        assert_eq!(token.plan(after(lifetime / 2), SKEW), Plan::Refresh);
    }
}

#[test]
fn a_holder_knows_how_long_its_claim_is_good() {
    let held = Token::default().claimed(held_until(30));
    assert!(held.is_held_for(Duration::from_secs(15), after(15)));
    assert!(!held.is_held_for(Duration::from_secs(15), after(16)));
    assert!(!Token::default().is_held_for(Duration::ZERO, NOW));
}

#[test]
fn a_lease_that_is_over_is_taken_over() {
    let token = Token { lease: Some(held_until(0)), ..Token::default() };
    assert_eq!(token.plan(NOW, SKEW), Plan::Wait(NOW));
    assert_eq!(token.plan(NOW + Duration::from_millis(1), SKEW), Plan::Refresh);
}

/// Vector 50.
#[test]
fn vector_50_a_rotated_refresh_token_replaces_the_one_before_and_one_that_was_not_stays() {
    let token = Token::default().claimed(held_until(9)).granted(&grant("a", Some("r1")));
    assert_eq!(token.refresh, Some(Sealed::new("r1".into())));
    let token = token.claimed(held_until(9)).granted(&grant("b", None));
    assert_eq!(token.refresh, Some(Sealed::new("r1".into())));
    let token = token.claimed(held_until(9)).granted(&grant("c", Some("r2")));
    assert_eq!((token.refresh, token.lease), (Some(Sealed::new("r2".into())), None));
}

#[test]
fn failures_keep_what_is_valid_and_wait_longer_each_time() {
    let mut token = Token::default().claimed(held_until(9)).granted(&grant("a", Some("r")));
    let mut waits = Vec::new();
    for _ in 0..8 {
        token = token.claimed(held_until(9)).failed(NOW, "why".into());
        let Trouble::Failing { retry_at, .. } = token.trouble else { panic!("failing") };
        waits.push(retry_at.since(NOW).as_secs());
    }
    assert_eq!(waits, [5, 10, 20, 40, 80, 160, 300, 300]);
    assert_eq!((token.access.is_some(), token.refresh.is_some(), &token.lease), (true, true, &None));
    let token = token.claimed(held_until(9)).granted(&grant("b", None));
    assert_eq!(token.trouble, Trouble::None, "a success forgets the failures");
}

#[test]
fn a_refusal_is_the_end_and_keeps_the_refresh_token_for_whoever_looks() {
    let token = Token::default().claimed(held_until(9)).granted(&grant("a", Some("r")));
    let token = token.claimed(held_until(9)).refused("no".into());
    assert_eq!(token.plan(after(99_999), SKEW), Plan::Refused("no"));
    assert!(token.access.is_none() && token.refresh.is_some());
}

#[test]
fn a_rejected_token_is_taken_away_only_if_it_is_the_stored_one_and_not_time_after_time() {
    let token = Token::default().claimed(held_until(9)).granted(&grant("a", Some("r")));
    let sealed = |text: &str| Sealed::new(text.to_owned());
    assert_eq!(token.rejected(&sealed("other"), NOW), None);
    assert_eq!(token.claimed(held_until(9)).rejected(&sealed("a"), NOW), None, "somebody is at it");
    let without = token.rejected(&sealed("a"), NOW).unwrap();
    assert!(without.access.is_none() && without.refresh.is_some());
    assert!(without.generation > token.generation, "a result in flight must not bring it back");
    let next = without.claimed(held_until(9)).granted(&grant("b", None));
    assert_eq!(next.rejected(&sealed("b"), after(4)), None, "a new one that does not work either");
    let again = next.rejected(&sealed("b"), after(5)).unwrap();
    assert_eq!(again.rejections, Some(Rejections { count: 2, at: after(5) }));
    let third = again.claimed(held_until(9)).granted(&grant("c", None));
    assert_eq!(third.rejected(&sealed("c"), after(14)), None);
    assert!(third.rejected(&sealed("c"), after(15)).is_some());
    let much_later = third.rejected(&sealed("c"), after(5 + 600)).unwrap();
    assert_eq!(much_later.rejections.unwrap().count, 1);
}

#[test]
fn what_a_late_holder_brings_is_kept_unless_a_later_one_brought_more() {
    let mine = Token::default().claimed(held_until(9));
    let theirs = mine.claimed(held_until(99));
    let late = grant("late", Some("r"));
    for stored in
        [theirs.clone(), theirs.failed(NOW, "used up".into()), theirs.refused("invalid_grant".into())]
    {
        let saved = stored.late(mine.generation, &late).unwrap();
        assert_eq!(
            (&saved.access, &saved.lease, &saved.trouble),
            (&Some(late.access.clone()), &None, &Trouble::None)
        );
        assert!(saved.generation > stored.generation, "whoever is at it now must not undo it");
    }
    let newer = theirs.granted(&grant("newer", Some("r2")));
    assert_eq!(newer.late(mine.generation, &late), None);
    let applied = mine.granted(&late).claimed(held_until(9));
    assert_eq!(applied.late(mine.generation, &late), None, "it was applied, and its answer lost");
}

#[test]
fn debug_shows_nothing_sealed() {
    let token = Token::default().granted(&grant("hidden-a", Some("hidden-r")));
    assert!(!format!("{token:?}").contains("hidden"));
}

fn any_token() -> impl Strategy<Value = Token> {
    let lease = proptest::option::of((0..3_u64, 0..200_u64));
    let access = proptest::option::of((0..3_u8, 0..200_u64));
    let trouble = prop_oneof![
        Just(Trouble::None),
        (0..40_u32, 0..200_u64).prop_map(|(attempts, at)| Trouble::Failing {
            attempts,
            retry_at: after(at),
            reason: "why".into()
        }),
        Just(Trouble::Refused { reason: "no".into() }),
    ];
    (0..5_u64, lease, access, trouble).prop_map(|(generation, lease, access, trouble)| Token {
        generation: Generation::new(generation),
        lease: lease.map(|(nonce, until)| Lease { owner: Owner::new("w", nonce), until: after(until) }),
        access: access.map(|(text, left)| self::access(&text.to_string(), left)),
        trouble,
        ..Token::default()
    })
}

proptest! {
    /// Only one may refresh, and never with a token that is fresh enough.
    #[test]
    fn a_refresh_is_planned_only_when_nobody_holds_the_row(token in any_token(), at in 0..250_u64, skew in 0..100_u64) {
        let (now, skew) = (after(at), Duration::from_secs(skew));
        let held = token.lease.as_ref().is_some_and(|lease| lease.until >= now);
        match token.plan(now, skew) {
            Plan::Refresh => {
                prop_assert!(!held);
                prop_assert!(token.access.as_ref().is_none_or(|access| access.expires_at <= now + skew));
            }
            Plan::Use(access) => prop_assert!(access.expires_at > now, "never one that is over"),
            Plan::Wait(until) => prop_assert!(held && until >= now),
            Plan::Backoff { until, .. } => prop_assert!(until > now),
            Plan::Refused(_) => {
                let refused = matches!(token.trouble, Trouble::Refused { .. });
                prop_assert!(refused);
            }
        }
    }

    /// Each write makes a version that no other reader has: the compare-and-swap cannot be fooled.
    #[test]
    fn every_write_makes_another_version(token in any_token()) {
        let lease = Lease { owner: Owner::new("w", 99), until: after(300) };
        let claimed = token.claimed(lease);
        let writes = [
            claimed.clone(),
            token.late(Generation::new(99), &grant("x", None)).unwrap(),
        ];
        for written in &writes {
            prop_assert!(!Token::is_unchanged(Some(&token), Some(written)));
        }
        for written in [claimed.granted(&grant("x", None)), claimed.failed(NOW, "w".into()), claimed.refused("n".into())] {
            prop_assert!(!Token::is_unchanged(Some(&claimed), Some(&written)));
            prop_assert!(!Token::is_unchanged(Some(&token), Some(&written)));
        }
        prop_assert!(Token::is_unchanged(Some(&token), Some(&token)));
        prop_assert!(!Token::is_unchanged(None, Some(&token)) && !Token::is_unchanged(Some(&token), None));
    }
}
