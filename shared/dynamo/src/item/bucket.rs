//! How much a user may still call: the moment at which the bucket is full. The row may go then, because a full bucket is as good
//! as none.

use pudu_app::ports::StoreError;
use pudu_domain::bucket::Bucket;

use crate::key::Key;
use crate::row::{Reader, Row, Writer};

pub(crate) const ITEM: &str = "bucket";

/// In microseconds since the epoch.
pub(crate) const FULL_AT: &str = "full";

pub(crate) fn encode(key: &Key, bucket: Bucket) -> Row {
    Writer::new(key).number(FULL_AT, bucket.micros()).ends(bucket.ends()).row()
}

pub(crate) fn decode(row: &Row) -> Result<Bucket, StoreError> {
    Reader::new(ITEM, row)?.number(FULL_AT).map(Bucket::full_at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::row::number;
    use crate::schema::TTL;
    use crate::strategies::task_key;

    proptest! {
        #[test]
        fn a_bucket_reads_back_and_its_row_goes_when_it_is_full(owner in task_key(), micros in 0..=u64::MAX / 2) {
            let bucket = Bucket::full_at(micros);
            let row = encode(&Key::Bucket(owner.thread.user), bucket);
            prop_assert_eq!(decode(&row).unwrap(), bucket);
            let end = micros.div_ceil(1000) / 1000 + 1;
            prop_assert_eq!(&row[TTL], &number(end));
        }
    }
}
