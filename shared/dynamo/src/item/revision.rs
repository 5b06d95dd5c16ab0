//! A config revision: deflated JSON in its head row, or in numbered part rows when it is too large for one.
//!
//! Parts are addressed by the digest of the stored content and written before the head, so that the orphans of a writer
//! that lost the race for a number are never read by anybody.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use pudu_app::ports::{Revision, StoreError};
use pudu_domain::Timestamp;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::body::{self, EncodeError, MAX_BODY_BYTES};
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "config revision";

const AT: &str = "at";
const WRITER: &str = "writer";
const BODY: &str = "body";
const DIGEST: &str = "digest";
const PARTS: &str = "parts";

/// A revision as rows.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Written first.
    pub(crate) parts: Vec<Row>,
    /// Written together with the pointer.
    pub(crate) head: Row,
}

/// A head row that was read.
#[derive(Debug, PartialEq)]
pub(crate) struct Head {
    pub(crate) number: u64,
    pub(crate) at: Timestamp,
    /// SHA-256 of the stored content, in hex.
    pub(crate) digest: String,
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

/// The rows of `revision`; `writer` is a nonce by which the writer recognises its own head.
pub(crate) fn encode(revision: &Revision, writer: &str) -> Result<Rows, EncodeError> {
    encode_in(revision, writer, MAX_BODY_BYTES)
}

/// The same with a chosen size of a part, for tests.
pub(crate) fn encode_in(revision: &Revision, writer: &str, part_bytes: usize) -> Result<Rows, EncodeError> {
    let json =
        serde_json::to_vec(&revision.sealed).map_err(|source| EncodeError::Json { item: ITEM, source })?;
    let packed = body::deflate(ITEM, &json)?;
    let digest = hex::encode(Sha256::digest(&packed));
    let head = Writer::new(&Key::Revision(revision.number))
        .time(AT, revision.at)
        .text(WRITER, writer)
        .text(DIGEST, &digest);
    if packed.len() <= part_bytes {
        let head = head.value(BODY, AttributeValue::B(Blob::new(packed))).row();
        return Ok(Rows { parts: Vec::new(), head });
    }
    let parts: Vec<Row> = (0_u16..)
        .zip(packed.chunks(part_bytes))
        .map(|(part, chunk)| {
            let key = Key::RevisionPart { number: revision.number, digest: digest.clone(), part };
            Writer::new(&key).value(BODY, AttributeValue::B(Blob::new(chunk))).row()
        })
        .collect();
    let count = u64::try_from(parts.len()).unwrap_or(u64::MAX);
    Ok(Rows { head: head.number(PARTS, count).row(), parts })
}

pub(crate) fn decode_head(row: &Row) -> Result<Head, StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let Key::Revision(number) = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of a revision"));
    };
    let content = match reader.number_maybe(PARTS)? {
        Some(parts) => Content::Parts(parts),
        None => Content::Inline(blob(reader)?.to_vec()),
    };
    Ok(Head { number, at: reader.time(AT)?, digest: reader.text(DIGEST)?.to_owned(), content })
}

/// The bytes of a part row.
pub(crate) fn decode_part(row: &Row) -> Result<&[u8], StoreError> {
    blob(Reader::new("config revision part", row)?)
}

/// The revision, once its content is whole.
pub(crate) fn decode(head: &Row, packed: &[u8]) -> Result<Revision, StoreError> {
    let reader = Reader::new(ITEM, head)?;
    let Head { number, at, digest, .. } = decode_head(head)?;
    if hex::encode(Sha256::digest(packed)) != digest {
        return Err(reader.corrupt(DIGEST, "is not the digest of the content"));
    }
    let sealed: Option<Value> = body::inflate(packed).and_then(|json| serde_json::from_slice(&json).ok());
    let sealed = sealed.ok_or_else(|| reader.corrupt(BODY, "is not deflated JSON"))?;
    Ok(Revision { number, at, sealed })
}

/// Whether `writer` wrote this head.
pub(crate) fn is_by(head: &Row, writer: &str) -> bool {
    matches!(head.get(WRITER), Some(AttributeValue::S(by)) if by == writer)
}

/// The pointer row.
pub(crate) fn pointer(number: u64) -> Row {
    Writer::new(&Key::Pointer).number(attr::NUMBER, number).row()
}

pub(crate) fn decode_pointer(row: &Row) -> Result<u64, StoreError> {
    Reader::new("config pointer", row)?.number(attr::NUMBER)
}

fn blob(reader: Reader<'_>) -> Result<&[u8], StoreError> {
    match reader.value(BODY)? {
        AttributeValue::B(blob) => Ok(blob.as_ref()),
        _ => Err(reader.corrupt(BODY, "is not binary")),
    }
}
