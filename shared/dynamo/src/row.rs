//! Rows as the SDK has them, written and read attribute by attribute.
//!
//! A row that does not read is [`StoreError::Corrupt`] with the item, its key and the attribute; never with the content,
//! which may be anybody's. Each row carries the format version [`FORMAT`] in `v`.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use pudu_app::ports::StoreError;
use pudu_domain::Timestamp;

use crate::key::Key;
use crate::schema::TTL;

/// The format version of every row that has no other.
pub(crate) const FORMAT: u64 = 1;

/// Largest row that is ever written, in bytes: DynamoDB's own limit is 400 KB (DESIGN "The table").
pub(crate) const MAX_ROW_BYTES: usize = 350 * 1024;

/// The attributes of keys and of the due index; a constant of the stored format.
pub(crate) mod attr {
    pub(crate) const PK: &str = "pk";
    pub(crate) const SK: &str = "sk";
    pub(crate) const FORMAT: &str = "v";
    pub(crate) const DUE_PK: &str = "due_pk";
    pub(crate) const DUE_AT: &str = "due_at";
    pub(crate) const SERVER: &str = "server";
    pub(crate) const GENERATION: &str = "gen";
    pub(crate) const WAKE: &str = "wake";
    pub(crate) const LEASE_OWNER: &str = "lo";
    pub(crate) const LEASE_UNTIL: &str = "lu";
    /// A thread that is being deleted; nothing new starts in it.
    pub(crate) const DELETING: &str = "deleting";
    /// When a thread began.
    pub(crate) const CREATED_AT: &str = "ct";
    /// The task that owns a remote handle: its hot row's pk and sk.
    pub(crate) const OWNER_PK: &str = "opk";
    pub(crate) const OWNER_SK: &str = "osk";
    /// The digest of what a repeatable submission asked for.
    pub(crate) const REQUEST: &str = "rq";
    /// The version in a `notified` row, an event and a note.
    pub(crate) const VERSION: &str = "ver";
    /// The number of a revision.
    pub(crate) const NUMBER: &str = "num";
    /// How often a conversation was changed.
    pub(crate) const REVISION: &str = "rv";
    /// When a server's tools were asked for.
    pub(crate) const LISTED_AT: &str = "lt";
}

/// One row.
pub(crate) type Row = HashMap<String, AttributeValue>;

/// A row in the making.
pub(crate) struct Writer(Row);

impl Writer {
    pub(crate) fn new(key: &Key) -> Self {
        Self::of(key, FORMAT)
    }

    /// A row of an item whose format changed.
    pub(crate) fn of(key: &Key, format: u64) -> Self {
        Self(key_of(key)).number(attr::FORMAT, format)
    }

    pub(crate) fn text(self, name: &str, value: impl Into<String>) -> Self {
        self.value(name, AttributeValue::S(value.into()))
    }

    pub(crate) fn number(self, name: &str, value: impl Into<u64>) -> Self {
        self.value(name, number(value))
    }

    pub(crate) fn time(self, name: &str, at: Timestamp) -> Self {
        self.number(name, at.as_millis())
    }

    /// Has the table remove the row once `at` is over: in the next whole second, because until then it can still be read.
    pub(crate) fn ends(self, at: Timestamp) -> Self {
        self.number(TTL, end_of(at))
    }

    pub(crate) fn value(mut self, name: &str, value: AttributeValue) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }

    /// Adds what `value` has, or nothing: an absent attribute is how a row says "none".
    pub(crate) fn maybe<T>(self, value: Option<T>, add: impl FnOnce(Self, T) -> Self) -> Self {
        match value {
            Some(value) => add(self, value),
            None => self,
        }
    }

    pub(crate) fn row(self) -> Row {
        self.0
    }

    /// Bytes so far.
    pub(crate) fn size(&self) -> usize {
        size(&self.0)
    }
}

/// The row, with its end if it has one. An end fits into what the hot row of a task keeps free for a claim: what has ended
/// is not claimed any more.
pub(crate) fn ending(mut row: Row, at: Option<Timestamp>) -> Row {
    if let Some(at) = at {
        row.insert(TTL.to_owned(), number(end_of(at)));
    }
    row
}

/// Whether the row's time is over at `now`: to a reader it is gone, although the table may take days to remove it.
pub(crate) fn is_over(row: &Row, now: Timestamp) -> bool {
    match row.get(TTL) {
        Some(AttributeValue::N(end)) => end.parse().is_ok_and(|end: u64| end <= seconds(now)),
        _ => false,
    }
}

/// The second that `at` is in, since the epoch.
pub(crate) const fn seconds(at: Timestamp) -> u64 {
    Duration::from_millis(at.as_millis()).as_secs()
}

/// The end of a row that can be read until `at`: the next whole second.
pub(crate) const fn end_of(at: Timestamp) -> u64 {
    seconds(at) + 1
}

/// The two key attributes alone.
pub(crate) fn key_of(key: &Key) -> Row {
    Row::from([
        (attr::PK.to_owned(), AttributeValue::S(key.pk())),
        (attr::SK.to_owned(), AttributeValue::S(key.sk())),
    ])
}

pub(crate) fn number(value: impl Into<u64>) -> AttributeValue {
    AttributeValue::N(value.into().to_string())
}

/// The size of a row in bytes, at least as large as DynamoDB counts it: names and values, a number as long as its
/// digits (it is stored in about half of them, and engines differ in how they round).
pub(crate) fn size(row: &Row) -> usize {
    row.iter().map(|(name, value)| name.len() + value_size(value)).sum()
}

fn value_size(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => text.len(),
        AttributeValue::B(blob) => blob.as_ref().len(),
        // No row of ours has others; counting them as large makes a forgotten one fail its size test.
        _ => MAX_ROW_BYTES,
    }
}

/// A stored row being read as an item of one kind.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    item: &'static str,
    row: &'a Row,
}

impl<'a> Reader<'a> {
    /// Reads `row` as an `item`; refuses rows of another format version.
    pub(crate) fn new(item: &'static str, row: &'a Row) -> Result<Self, StoreError> {
        Self::of(item, row, &[FORMAT]).map(|(reader, _)| reader)
    }

    /// The same for an item whose format changed: any of these versions, and which one it is.
    pub(crate) fn of(item: &'static str, row: &'a Row, known: &[u64]) -> Result<(Self, u64), StoreError> {
        let reader = Self { item, row };
        let format = reader.number(attr::FORMAT)?;
        if known.contains(&format) {
            Ok((reader, format))
        } else {
            Err(reader.corrupt(attr::FORMAT, "is of a format version that this program does not know"))
        }
    }

    /// Reads without looking at the version: for judging an old image, of which only the lease matters.
    pub(crate) const fn unversioned(item: &'static str, row: &'a Row) -> Self {
        Self { item, row }
    }

    /// The row's own address.
    pub(crate) fn key(&self) -> Result<Key, StoreError> {
        Key::parse(self.text(attr::PK)?, self.text(attr::SK)?)
            .ok_or_else(|| self.corrupt(attr::SK, "is no key of this table"))
    }

    pub(crate) fn text(&self, name: &'static str) -> Result<&'a str, StoreError> {
        self.text_maybe(name)?.ok_or_else(|| self.corrupt(name, "is missing"))
    }

    pub(crate) fn text_maybe(&self, name: &'static str) -> Result<Option<&'a str>, StoreError> {
        match self.row.get(name) {
            None => Ok(None),
            Some(AttributeValue::S(text)) => Ok(Some(text)),
            Some(_) => Err(self.corrupt(name, "is not a string")),
        }
    }

    pub(crate) fn number<T: TryFrom<u64>>(&self, name: &'static str) -> Result<T, StoreError> {
        self.number_maybe(name)?.ok_or_else(|| self.corrupt(name, "is missing"))
    }

    pub(crate) fn number_maybe<T: TryFrom<u64>>(&self, name: &'static str) -> Result<Option<T>, StoreError> {
        let Some(value) = self.row.get(name) else { return Ok(None) };
        let AttributeValue::N(digits) = value else { return Err(self.corrupt(name, "is not a number")) };
        let number = digits.parse::<u64>().ok().and_then(|number| T::try_from(number).ok());
        number.map(Some).ok_or_else(|| self.corrupt(name, "is out of range"))
    }

    pub(crate) fn time(&self, name: &'static str) -> Result<Timestamp, StoreError> {
        self.number(name).map(Timestamp::from_millis)
    }

    pub(crate) fn time_maybe(&self, name: &'static str) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.number_maybe(name)?.map(Timestamp::from_millis))
    }

    /// Whether there is such an attribute.
    pub(crate) fn has(&self, name: &'static str) -> bool {
        self.row.contains_key(name)
    }

    pub(crate) fn value(&self, name: &'static str) -> Result<&'a AttributeValue, StoreError> {
        self.row.get(name).ok_or_else(|| self.corrupt(name, "is missing"))
    }

    /// A text that must be one of our identifiers or words.
    pub(crate) fn parsed<T>(
        &self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, StoreError> {
        parse(self.text(name)?).ok_or_else(|| self.corrupt(name, "is not one of the known values"))
    }

    /// The error for `attribute`.
    pub(crate) fn corrupt(&self, attribute: &'static str, problem: &'static str) -> StoreError {
        let part = |name| match self.row.get(name) {
            Some(AttributeValue::S(text)) => text.as_str(),
            _ => "?",
        };
        let key = format!("{} / {}", part(attr::PK), part(attr::SK));
        StoreError::Corrupt { item: self.item, key, attribute, problem }
    }
}
