//! The first key over scripted answers. What engines make of it is asked by the conformance suite.

use pudu_domain::Timestamp;

use super::*;
use crate::scripted::{Script, Step, condition_failed};

const NOW: Timestamp = Timestamp::from_millis(1_793_491_200_000);

async fn put(steps: impl IntoIterator<Item = Step>) -> Result<Vec<u8>, StoreError> {
    Script::new(steps).table(NOW).put_if_absent(vec![1; 32]).await
}

#[tokio::test]
async fn a_key_whose_answer_was_lost_finds_itself() {
    let own = wrapped_key::encode(vec![1; 32]);
    assert_eq!(put([Step::Silence, condition_failed(Some(&own))]).await.unwrap(), [1; 32]);
}

#[tokio::test]
async fn the_key_that_is_kept_is_the_answer() {
    let kept = wrapped_key::encode(vec![2; 40]);
    assert_eq!(put([condition_failed(Some(&kept))]).await.unwrap(), [2; 40]);
}

#[tokio::test]
async fn a_kept_key_that_is_not_shown_is_no_answer() {
    assert!(matches!(put([condition_failed(None)]).await, Err(StoreError::Unavailable { .. })));
}
