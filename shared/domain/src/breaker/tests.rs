use super::*;

const FREE: Terms = Terms { at_once: None, longest: Duration::from_mins(10) };
const TWO: Terms = Terms { at_once: Some(2), ..FREE };

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000 + seconds * 1000)
}

fn failed(breaker: &Breaker, times: u64) -> Breaker {
    (0..times).fold(breaker.clone(), |breaker, call| breaker.leave(call, Outcome::Failed, at(0)).unwrap())
}

fn taken(entry: Entry) -> Breaker {
    match entry {
        Entry::Take(after) => after,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_closed_one_changes_nothing_for_calls_that_go_well() {
    let closed = Breaker::default();
    assert_eq!(closed.enter(FREE, 1, at(0)), Entry::Free);
    assert_eq!(closed.leave(1, Outcome::Answered, at(1)), None);
}

#[test]
fn five_failures_in_a_row_open_it_for_a_minute() {
    let four = failed(&Breaker::default(), 4);
    assert_eq!(four.enter(FREE, 9, at(0)), Entry::Free);
    let five = failed(&four, 1);
    assert_eq!(five.enter(FREE, 9, at(0)), Entry::Refused(Refusal::Open { wait: OPEN_FOR }));
    assert_eq!(five.enter(FREE, 9, at(59)), Entry::Refused(Refusal::Open { wait: Duration::from_secs(1) }));
    let broken = four.leave(8, Outcome::Answered, at(0)).unwrap();
    assert_eq!(failed(&broken, 4).enter(FREE, 9, at(0)), Entry::Free, "an answer between them begins anew");
}

#[test]
fn after_a_minute_one_call_probes_and_decides_for_all() {
    let open = failed(&Breaker::default(), 5);
    let probing = taken(open.enter(FREE, 50, at(60)));
    assert!(matches!(probing.enter(FREE, 51, at(61)), Entry::Refused(Refusal::Open { .. })));
    let closed = probing.leave(50, Outcome::Answered, at(62)).unwrap();
    assert_eq!(closed.enter(FREE, 51, at(62)), Entry::Free);
    assert_eq!(failed(&closed, 4).enter(FREE, 52, at(62)), Entry::Free, "it counts from the beginning");
    let open = probing.leave(50, Outcome::Failed, at(62)).unwrap();
    assert_eq!(open.enter(FREE, 51, at(63)), Entry::Refused(Refusal::Open { wait: Duration::from_secs(59) }));
    taken(open.enter(FREE, 51, at(122)));
}

#[test]
fn a_probe_that_never_comes_back_is_followed_by_another() {
    let probing = taken(failed(&Breaker::default(), 5).enter(FREE, 50, at(60)));
    assert!(matches!(probing.enter(FREE, 51, at(659)), Entry::Refused(_)));
    let second = taken(probing.enter(FREE, 51, at(660)));
    assert_eq!(second.leave(50, Outcome::Answered, at(661)), None, "the first has lost its say");
}

#[test]
fn calls_that_began_before_it_opened_change_nothing() {
    let open = failed(&Breaker::default(), 5);
    assert_eq!(open.leave(77, Outcome::Answered, at(1)), None);
    assert_eq!(open.leave(77, Outcome::Failed, at(30)), None, "nor do they keep it open");
}

#[test]
fn no_more_calls_go_on_than_may() {
    let one = taken(Breaker::default().enter(TWO, 1, at(0)));
    let two = taken(one.enter(TWO, 2, at(1)));
    assert_eq!(two.enter(TWO, 3, at(2)), Entry::Refused(Refusal::Full { wait: FULL_WAIT }));
    let left = two.leave(1, Outcome::Answered, at(3)).unwrap();
    let again = taken(left.enter(TWO, 3, at(4)));
    assert!(matches!(again.enter(TWO, 4, at(4)), Entry::Refused(Refusal::Full { .. })));
    taken(again.enter(TWO, 4, at(601)));
}

#[test]
fn a_failed_call_leaves_its_place_too() {
    let one = taken(Breaker::default().enter(Terms { at_once: Some(1), ..FREE }, 1, at(0)));
    let left = one.leave(1, Outcome::Failed, at(1)).unwrap();
    taken(left.enter(Terms { at_once: Some(1), ..FREE }, 2, at(1)));
}

#[test]
fn what_a_wrong_clock_wrote_does_not_shut_anybody_out_for_long() {
    let open =
        (0..5).fold(Breaker::default(), |it, call| it.leave(call, Outcome::Failed, at(86_400)).unwrap());
    taken(open.enter(FREE, 9, at(0)));
}

#[test]
fn two_changes_of_the_same_are_told_apart() {
    let first = Breaker::default().leave(1, Outcome::Failed, at(0)).unwrap();
    let second = Breaker::default().leave(2, Outcome::Failed, at(0)).unwrap();
    assert_eq!((first.revision(), second.revision()), (1, 1));
    assert_ne!(first, second);
    let text = serde_json::to_string(&first).unwrap();
    assert_eq!(serde_json::from_str::<Breaker>(&text).unwrap(), first);
    assert_eq!(first.ends(at(0)), at(3600));
}
