//! A value of any size: deflated JSON in its head row, or in numbered part rows when it is too large for one.
//!
//! Parts are addressed by the digest of the stored content and written before the head, so that the parts of a writer that
//! lost a race for the head are never read by anybody. Which rows these are is the item's business.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use pudu_app::ports::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::body::{self, EncodeError, MAX_BODY_BYTES};
use crate::row::{Reader, Row, Writer};

const BODY: &str = "body";
const DIGEST: &str = "digest";
const PARTS: &str = "parts";

/// A value as rows.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Written first.
    pub(crate) parts: Vec<Row>,
    /// Makes them count.
    pub(crate) head: Row,
}

/// What a head row says of its content.
#[derive(Debug, PartialEq)]
pub(crate) struct Head {
    /// SHA-256 of the stored content, in hex.
    pub(crate) digest: String,
    /// Where the content is.
    pub(crate) content: Content,
}

/// Where the content is.
#[derive(Debug, PartialEq)]
pub(crate) enum Content {
    /// In the head.
    Inline(Vec<u8>),
    /// In this many part rows.
    Parts(u16),
}

/// How an item is laid out.
pub(crate) struct Layout<P> {
    /// Its name, for messages.
    pub(crate) item: &'static str,
    /// The row of a part, by the content's digest and the part's number, without its content.
    pub(crate) part: P,
    /// Most bytes of content in a row.
    pub(crate) part_bytes: usize,
}

impl<P: Fn(&str, u16) -> Writer> Layout<P> {
    pub(crate) fn new(item: &'static str, part: P) -> Self {
        Self { item, part, part_bytes: MAX_BODY_BYTES }
    }

    /// The rows of `value`, whose head has what `head` has.
    pub(crate) fn encode(&self, head: Writer, value: &impl Serialize) -> Result<Rows, EncodeError> {
        let item = self.item;
        let json = serde_json::to_vec(value).map_err(|source| EncodeError::Json { item, source })?;
        let packed = body::deflate(item, &json)?;
        let digest = hex::encode(Sha256::digest(&packed));
        let head = head.text(DIGEST, &digest);
        if packed.len() <= self.part_bytes {
            let head = head.value(BODY, AttributeValue::B(Blob::new(packed))).row();
            return Ok(Rows { parts: Vec::new(), head });
        }
        let parts: Vec<Row> = (0_u16..)
            .zip(packed.chunks(self.part_bytes))
            .map(|(part, chunk)| {
                (self.part)(&digest, part).value(BODY, AttributeValue::B(Blob::new(chunk))).row()
            })
            .collect();
        let count = u64::try_from(parts.len()).unwrap_or(u64::MAX);
        Ok(Rows { head: head.number(PARTS, count).row(), parts })
    }
}

/// Where the content of a head is.
pub(crate) fn head(reader: Reader<'_>) -> Result<Head, StoreError> {
    let content = match reader.number_maybe(PARTS)? {
        Some(parts) => Content::Parts(parts),
        None => Content::Inline(bytes(reader)?.to_vec()),
    };
    Ok(Head { digest: reader.text(DIGEST)?.to_owned(), content })
}

/// The bytes of a part row, or of a head that has its content in itself.
pub(crate) fn bytes(reader: Reader<'_>) -> Result<&[u8], StoreError> {
    match reader.value(BODY)? {
        AttributeValue::B(blob) => Ok(blob.as_ref()),
        _ => Err(reader.corrupt(BODY, "is not binary")),
    }
}

/// The value, once its content is whole; `reader` is the head's.
pub(crate) fn decode<T: DeserializeOwned>(reader: Reader<'_>, packed: &[u8]) -> Result<T, StoreError> {
    if hex::encode(Sha256::digest(packed)) != reader.text(DIGEST)? {
        return Err(reader.corrupt(DIGEST, "is not the digest of the content"));
    }
    let value = body::inflate(packed).and_then(|json| serde_json::from_slice(&json).ok());
    value.ok_or_else(|| reader.corrupt(BODY, "is not deflated JSON"))
}
