use std::collections::BTreeSet;

use pudu_domain::{Due, Durable, Lane, Lease, Owner, TaskId, TaskKey, ThreadId, ThreadKey, UserId};

use super::*;

const NOW: Timestamp = Timestamp::from_millis(5000);

fn task() -> TaskKey {
    let thread =
        ThreadKey { user: UserId::parse("local:default").unwrap(), thread: ThreadId::parse("t").unwrap() };
    TaskKey { thread, id: TaskId::new(NOW, [1; 10]) }
}

fn held() -> Durable {
    Durable::leased(Due { lane: Lane::Poll, at: NOW }, Lease { owner: Owner::new("w", 1), until: NOW })
}

fn every() -> Vec<When> {
    vec![
        When::Expect(Expect::Absent { owner: None }),
        When::Expect(held().held()),
        When::Expect(held().unchanged()),
        When::Expect(held().committed(None).unchanged()),
        When::Claimable { due_pk: "poll#01".into() },
        When::ClaimedBy { owner: "w:1".into() },
        When::WaitingIn { due_pk: "poll#01".into() },
        When::Absent,
        When::Free(Key::Task(task())),
        When::Open,
        When::Below(3),
        When::Pointer(3),
        When::NotListedAfter(NOW),
        When::Bucket(Bucket::default()),
        When::Bucket(Bucket::full_at(u64::MAX)),
        When::Breaker(0),
        When::Breaker(7),
        When::Lit,
        When::Dark { owner: "w:1".into(), relieves: None },
        When::Dark { owner: "w:1".into(), relieves: Some(NOW) },
        When::Token { generation: Generation::new(3), owner: None },
        When::Token { generation: Generation::new(3), owner: Some("w:1".into()) },
    ]
}

/// The placeholders of one kind in an expression.
fn placeholders(text: &str, mark: char) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(mark)
        .map(|(at, _)| {
            let name: String = text[at + 1..].chars().take_while(|c| is_part(*c)).collect();
            format!("{mark}{name}")
        })
        .collect()
}

/// DynamoDB refuses an expression with an unknown placeholder, and a request with an unused one.
#[test]
fn every_placeholder_is_defined_and_every_definition_used() {
    for when in every() {
        let expression = when.at(NOW).unwrap();
        let names: BTreeSet<String> = expression.name_map().unwrap_or_default().into_keys().collect();
        let values: BTreeSet<String> = expression.value_map().unwrap_or_default().into_keys().collect();
        assert_eq!(names, placeholders(&expression.text, '#'), "{when:?}");
        assert_eq!(values, placeholders(&expression.text, ':'), "{when:?}");
    }
    assert_eq!(When::Always.at(NOW), None);
}

#[test]
fn a_commit_asks_for_its_claim_at_the_time_of_the_attempt() {
    let when = When::Expect(held().held());
    let first = when.at(NOW).unwrap();
    assert_eq!(first.text, "#gen = :gen AND #wake = :wake AND #lu >= :now");
    let values = first.value_map().unwrap();
    assert_eq!(values.get(":gen"), Some(&AttributeValue::N("1".into())));
    assert_eq!(values.get(":now"), Some(&AttributeValue::N("5000".into())));
    let later = when.at(Timestamp::from_millis(6000)).unwrap().value_map().unwrap();
    assert_eq!(later.get(":now"), Some(&AttributeValue::N("6000".into())));
}

#[test]
fn a_reader_asks_whether_there_was_a_lease() {
    let text = |durable: &Durable| When::Expect(durable.unchanged()).at(NOW).unwrap().text;
    assert!(text(&held()).ends_with("AND attribute_exists(#lu)"));
    assert!(text(&held().committed(None)).ends_with("AND attribute_not_exists(#lu)"));
}

#[test]
fn a_claim_asks_for_its_lane_and_for_no_living_lease() {
    let claim = When::Claimable { due_pk: "poll#07".into() }.at(NOW).unwrap();
    assert_eq!(
        claim.text,
        "#due_pk = :due_pk AND #due_at <= :now AND (attribute_not_exists(#lu) OR #lu < :now)"
    );
    assert_eq!(claim.value_map().unwrap().get(":due_pk"), Some(&AttributeValue::S("poll#07".into())));
}

/// What a claim may take, and nothing else, may be put away unclaimed.
#[test]
fn a_row_is_put_away_under_the_lease_condition_of_its_claim() {
    let due_pk = || "poll#07".to_owned();
    let text = |when: When| when.at(NOW).unwrap().text;
    let (claim, away) =
        (text(When::Claimable { due_pk: due_pk() }), text(When::WaitingIn { due_pk: due_pk() }));
    let lease = |text: &str| text.rsplit_once(" AND ").unwrap().1.to_owned();
    assert_eq!(lease(&away), lease(&claim));
    assert_eq!(lease(&away), "(attribute_not_exists(#lu) OR #lu < :now)");
}
