//! A config revision: a value of any size ([`parts`]) under its number.

use aws_sdk_dynamodb::types::AttributeValue;
use pudu_app::ports::{Revision, StoreError};

use crate::body::EncodeError;
use crate::item::parts::{self, Head, Layout, Rows};
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "config revision";
pub(crate) const PART: &str = "config revision part";

const AT: &str = "at";
const WRITER: &str = "writer";

/// The rows of `revision`; `writer` is a nonce by which the writer recognises its own head.
pub(crate) fn encode(revision: &Revision, writer: &str) -> Result<Rows, EncodeError> {
    layout(revision.number).encode(head(revision, writer), &revision.sealed)
}

/// The same with a chosen size of a part.
#[cfg(test)]
pub(crate) fn encode_in(revision: &Revision, writer: &str, part_bytes: usize) -> Result<Rows, EncodeError> {
    Layout { part_bytes, ..layout(revision.number) }.encode(head(revision, writer), &revision.sealed)
}

fn head(revision: &Revision, writer: &str) -> Writer {
    Writer::new(&Key::Revision(revision.number)).time(AT, revision.at).text(WRITER, writer)
}

fn layout(number: u64) -> Layout<impl Fn(&str, u16) -> Writer> {
    Layout::new(ITEM, move |digest, part| {
        Writer::new(&Key::RevisionPart { number, digest: digest.to_owned(), part })
    })
}

pub(crate) fn decode_head(row: &Row) -> Result<Head, StoreError> {
    parts::head(Reader::new(ITEM, row)?)
}

/// The revision, once its content is whole.
pub(crate) fn decode(head: &Row, packed: &[u8]) -> Result<Revision, StoreError> {
    let reader = Reader::new(ITEM, head)?;
    let Key::Revision(number) = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of a revision"));
    };
    Ok(Revision { number, at: reader.time(AT)?, sealed: parts::decode(reader, packed)? })
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
