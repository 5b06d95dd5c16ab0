//! JSON inside a row, and how a large one fits.
//!
//! Bodies are compact JSON strings, readable in any console. One that would not fit its row is deflated: a result, an
//! artifact and a question at their limits together are more than a row takes (256 + 64 + 64 KB).

use std::io::{Read, Write};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use pudu_app::ports::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::row::{MAX_ROW_BYTES, Reader};

#[cfg(test)]
mod tests;

/// Largest body, in bytes as stored; what is left of the row is for its other attributes.
pub(crate) const MAX_BODY_BYTES: usize = MAX_ROW_BYTES - 8 * 1024;

/// Why an item cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EncodeError {
    /// Our own types serialise; this is a defect of a `Serialize`.
    #[error("the {item} has no JSON form")]
    Json {
        /// Which item.
        item: &'static str,
        /// What serde says.
        #[source]
        source: serde_json::Error,
    },
    /// Too large even when deflated.
    #[error(
        "the {item} takes {bytes} bytes, more than the {limit} that a row may have; make it smaller at its source"
    )]
    TooLarge {
        /// Which item.
        item: &'static str,
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Writing to memory failed.
    #[error("the {item} cannot be deflated")]
    Deflate {
        /// Which item.
        item: &'static str,
        /// What the encoder says.
        #[source]
        source: std::io::Error,
    },
    /// A revision without a number.
    #[error("config revisions count from 1")]
    RevisionZero,
}

impl EncodeError {
    /// The port's error: nothing was written and trying again cannot help.
    pub(crate) fn refused(self, operation: &'static str) -> StoreError {
        StoreError::Refused { operation, source: Box::new(self) }
    }
}

/// The attribute that holds `value`.
pub(crate) fn encode(item: &'static str, value: &impl Serialize) -> Result<AttributeValue, EncodeError> {
    let json = serde_json::to_string(value).map_err(|source| EncodeError::Json { item, source })?;
    if json.len() <= MAX_BODY_BYTES {
        return Ok(AttributeValue::S(json));
    }
    let packed = deflate(item, json.as_bytes())?;
    if packed.len() > MAX_BODY_BYTES {
        return Err(EncodeError::TooLarge { item, bytes: packed.len(), limit: MAX_BODY_BYTES });
    }
    Ok(AttributeValue::B(Blob::new(packed)))
}

/// What the attribute holds.
pub(crate) fn decode<T: DeserializeOwned>(reader: Reader<'_>, name: &'static str) -> Result<T, StoreError> {
    let value = match reader.value(name)? {
        AttributeValue::S(json) => serde_json::from_str(json).ok(),
        AttributeValue::B(packed) => {
            inflate(packed.as_ref()).and_then(|json| serde_json::from_slice(&json).ok())
        }
        _ => None,
    };
    value.ok_or_else(|| reader.corrupt(name, "is not the JSON that belongs there"))
}

/// Deflates.
pub(crate) fn deflate(item: &'static str, plain: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(plain)
        .and_then(|()| encoder.finish())
        .map_err(|source| EncodeError::Deflate { item, source })
}

/// Inflates; none if it is not a whole deflate stream.
pub(crate) fn inflate(packed: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    DeflateDecoder::new(packed).read_to_end(&mut plain).ok()?;
    Some(plain)
}
