//! A config revision: a value of any size ([`parts`]) under its number.

use aws_sdk_dynamodb::types::AttributeValue;
use pudu_app::ports::{Author, Made, Revision, StoreError};
use pudu_domain::{CredentialTag, UserId};

use crate::body::EncodeError;
use crate::item::parts::{self, Head, Layout, Rows};
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "config revision";
pub(crate) const PART: &str = "config revision part";

const AT: &str = "at";
const WRITER: &str = "writer";
const USER: &str = "by";
const TAG: &str = "tag";
const ACTION: &str = "act";
const TARGET: &str = "on";

/// The rows of `revision`; `writer` is a nonce by which the writer recognises its own head.
pub(crate) fn encode(revision: &Revision, writer: &str) -> Result<Rows, EncodeError> {
    layout(revision.made.number).encode(head(&revision.made, writer), &revision.sealed)
}

/// The same with a chosen size of a part.
#[cfg(test)]
pub(crate) fn encode_in(revision: &Revision, writer: &str, part_bytes: usize) -> Result<Rows, EncodeError> {
    Layout { part_bytes, ..layout(revision.made.number) }
        .encode(head(&revision.made, writer), &revision.sealed)
}

fn head(made: &Made, writer: &str) -> Writer {
    let head = Writer::new(&Key::Revision(made.number)).time(AT, made.at).text(WRITER, writer);
    head.maybe(made.author.as_ref(), |head, author| {
        head.text(USER, author.user.as_str())
            .text(TAG, author.tag.as_str())
            .text(ACTION, &author.action)
            .text(TARGET, &author.target)
    })
}

fn layout(number: u64) -> Layout<impl Fn(&str, u16) -> Writer> {
    Layout::new(ITEM, move |digest, part| {
        Writer::new(&Key::RevisionPart { number, digest: digest.to_owned(), part })
    })
}

pub(crate) fn decode_head(row: &Row) -> Result<Head, StoreError> {
    parts::head(Reader::new(ITEM, row)?)
}

/// What a head says of how its revision came to be. Those of earlier versions of this program name no author.
pub(crate) fn decode_made(head: &Row) -> Result<Made, StoreError> {
    let reader = Reader::new(ITEM, head)?;
    let Key::Revision(number) = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of a revision"));
    };
    let author = match reader.text_maybe(USER)? {
        None => None,
        Some(_) => Some(Author {
            user: reader.parsed(USER, |text| UserId::parse(text).ok())?,
            tag: reader.parsed(TAG, |text| CredentialTag::parse(text).ok())?,
            action: reader.text(ACTION)?.to_owned(),
            target: reader.text(TARGET)?.to_owned(),
        }),
    };
    Ok(Made { number, at: reader.time(AT)?, author })
}

/// The revision, once its content is whole.
pub(crate) fn decode(head: &Row, packed: &[u8]) -> Result<Revision, StoreError> {
    let sealed = parts::decode(Reader::new(ITEM, head)?, packed)?;
    Ok(Revision { made: decode_made(head)?, sealed })
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
