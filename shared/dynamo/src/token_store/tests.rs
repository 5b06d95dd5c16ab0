//! Lost answers of a compare-and-swap. What engines make of the conditions is asked by the conformance suite.

use std::time::Duration;

use pudu_domain::{Lease, Owner, Timestamp};

use super::*;
use crate::scripted::{Script, Step, condition_failed, done};

const NOW: Timestamp = Timestamp::from_millis(1_793_491_200_000);

fn key() -> TokenKey {
    TokenKey { server: "s".into(), identity: "0f".into() }
}

fn claimed(nonce: u64) -> Token {
    let until = NOW + Duration::from_secs(30);
    Token::default().claimed(Lease { owner: Owner::new("w", nonce), until })
}

async fn claim(steps: impl IntoIterator<Item = Step>) -> Replaced {
    Script::new(steps).table(NOW).replace(&key(), None, &claimed(1)).await.unwrap()
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_recognises_itself() {
    let mine = token::encode(&key(), &claimed(1));
    assert_eq!(claim([Step::Silence, condition_failed(Some(&mine))]).await, Replaced::Done);
}

#[tokio::test]
async fn a_claim_that_another_won_is_lost_and_told_what_is_there() {
    let theirs = token::encode(&key(), &claimed(2));
    let lost = Replaced::Lost(Some(Box::new(claimed(2))));
    assert_eq!(claim([condition_failed(Some(&theirs))]).await, lost);
    assert_eq!(claim([Step::Silence, condition_failed(Some(&theirs))]).await, lost);
}

#[tokio::test]
async fn the_condition_is_the_version_that_was_read() {
    let script = Script::new([done(), done(), done()]);
    let table = script.table(NOW);
    for seen in [None, Some(&Token::default()), Some(&claimed(1))] {
        assert_eq!(table.replace(&key(), seen, &claimed(3)).await.unwrap(), Replaced::Done);
    }
    let conditions: Vec<_> =
        script.asked().iter().map(|asked| asked["ConditionExpression"].clone()).collect();
    assert_eq!(
        conditions,
        [
            "attribute_not_exists(#pk)",
            "#gen = :gen AND attribute_not_exists(#lo)",
            "#gen = :gen AND #lo = :owner"
        ]
    );
}
