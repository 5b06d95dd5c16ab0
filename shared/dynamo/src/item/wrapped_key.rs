//! The sealing key, wrapped.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use pudu_app::ports::StoreError;

use crate::key::Key;
use crate::row::{Reader, Row, Writer};

pub(crate) const ITEM: &str = "wrapped key";

const WRAPPED: &str = "wrapped";

pub(crate) fn encode(wrapped: Vec<u8>) -> Row {
    Writer::new(&Key::WrappedKey).value(WRAPPED, AttributeValue::B(Blob::new(wrapped))).row()
}

pub(crate) fn decode(row: &Row) -> Result<Vec<u8>, StoreError> {
    let reader = Reader::new(ITEM, row)?;
    match reader.value(WRAPPED)? {
        AttributeValue::B(blob) => Ok(blob.as_ref().to_vec()),
        _ => Err(reader.corrupt(WRAPPED, "is not binary")),
    }
}
