//! A server's list of tools: a value of any size ([`parts`]) under the server's name and digest.

use pudu_app::ports::{LISTING_KEPT, RawTool, StoreError, StoredListing, TaskProtocol};
use pudu_domain::Timestamp;
use serde_json::Value;

use crate::body::EncodeError;
use crate::item::parts::{self, Head, Layout, Rows};
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "catalogue";
pub(crate) const PART: &str = "catalogue part";

const FRESH_UNTIL: &str = "until";
/// As what calls may become tasks. Rows from before there was that have none, which says so.
const TASKS: &str = "tasks";

/// The rows of a list. They all end together.
pub(crate) fn encode(server: &str, digest: &str, listing: &StoredListing) -> Result<Rows, EncodeError> {
    layout(server, digest, listing).encode(head(server, digest, listing), &body(listing))
}

/// The same with a chosen size of a part.
#[cfg(test)]
pub(crate) fn encode_in(
    server: &str,
    digest: &str,
    listing: &StoredListing,
    part_bytes: usize,
) -> Result<Rows, EncodeError> {
    let layout = Layout { part_bytes, ..layout(server, digest, listing) };
    layout.encode(head(server, digest, listing), &body(listing))
}

fn head(server: &str, digest: &str, listing: &StoredListing) -> Writer {
    ending(&Key::catalogue(server, digest), listing)
        .time(attr::LISTED_AT, listing.listed_at)
        .time(FRESH_UNTIL, listing.fresh_until)
        .maybe(listing.tasks, |row, tasks| row.text(TASKS, tasks.as_str()))
}

fn layout<'a>(
    server: &'a str,
    digest: &'a str,
    listing: &'a StoredListing,
) -> Layout<impl Fn(&str, u16) -> Writer + 'a> {
    Layout::new(ITEM, move |content, part| {
        ending(&Key::catalogue_part(server, digest, content, part), listing)
    })
}

fn ending(key: &Key, listing: &StoredListing) -> Writer {
    Writer::new(key).ends(listing.fresh_until + LISTING_KEPT)
}

fn body(listing: &StoredListing) -> Vec<(&str, &Value)> {
    listing.tools.iter().map(|tool| (tool.name.as_str(), &tool.definition)).collect()
}

pub(crate) fn decode_head(row: &Row) -> Result<Head, StoreError> {
    parts::head(Reader::new(ITEM, row)?)
}

/// Whether the list is over at `now`, whether or not the table has removed it already.
pub(crate) fn is_over(head: &Row, now: Timestamp) -> Result<bool, StoreError> {
    Ok(now >= Reader::new(ITEM, head)?.time(FRESH_UNTIL)? + LISTING_KEPT)
}

/// The list, once its content is whole.
pub(crate) fn decode(head: &Row, packed: &[u8]) -> Result<StoredListing, StoreError> {
    let reader = Reader::new(ITEM, head)?;
    let tools: Vec<(String, Value)> = parts::decode(reader, packed)?;
    let tasks = match reader.text_maybe(TASKS)? {
        Some(_) => Some(reader.parsed(TASKS, TaskProtocol::parse)?),
        None => None,
    };
    Ok(StoredListing {
        tools: tools.into_iter().map(|(name, definition)| RawTool { name, definition }).collect(),
        tasks,
        listed_at: reader.time(attr::LISTED_AT)?,
        fresh_until: reader.time(FRESH_UNTIL)?,
    })
}
