//! The breaker of a model. The row may go when it says nothing any more.

use pudu_app::ports::StoreError;
use pudu_domain::Timestamp;
use pudu_domain::breaker::Breaker;

use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "breaker";

/// The breaker as JSON: its places are a list, and nobody asks for a part of it.
const BREAKER: &str = "breaker";

pub(crate) fn encode(key: &Key, breaker: &Breaker, now: Timestamp) -> Row {
    let text = serde_json::to_string(breaker).unwrap_or_default();
    Writer::new(key)
        .number(attr::NUMBER, breaker.revision())
        .text(BREAKER, text)
        .ends(breaker.ends(now))
        .row()
}

pub(crate) fn decode(row: &Row) -> Result<Breaker, StoreError> {
    Reader::new(ITEM, row)?.parsed(BREAKER, |text| serde_json::from_str(text).ok())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use pudu_domain::breaker::{Entry, Outcome, Terms};

    use super::*;
    use crate::row::number;
    use crate::schema::TTL;

    proptest! {
        #[test]
        fn a_breaker_reads_back_and_its_row_goes_an_hour_later(failures in 0..8u64, calls in 0..4u64, at in 1_000_000..2_000_000u64) {
            let now = Timestamp::from_millis(at);
            let terms = Terms { at_once: Some(9), longest: Duration::from_secs(30) };
            let failed = (0..failures).fold(Breaker::default(), |it, call| it.leave(call, Outcome::Failed, now).unwrap_or(it));
            let breaker = (0..calls).fold(failed, |it, call| match it.enter(terms, 100 + call, now) {
                Entry::Take(after) => after,
                _ => it,
            });
            let row = encode(&Key::Breaker("gpt".to_owned()), &breaker, now);
            prop_assert_eq!(decode(&row).unwrap(), breaker.clone());
            prop_assert_eq!(&row[TTL], &number(breaker.ends(now).as_millis() / 1000 + 1));
        }
    }
}
