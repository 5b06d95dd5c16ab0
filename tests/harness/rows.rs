//! The table as somebody sees it who has stolen it: every byte of every row, inflated where it is deflated.

use std::io::Read;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use flate2::read::DeflateDecoder;

/// The rows of one table, read past all stores.
#[derive(Debug, Clone)]
pub struct Rows(Vec<Vec<(String, AttributeValue)>>);

impl Rows {
    /// Reads every row.
    pub async fn scan(client: &Client, table: &str) -> Self {
        let mut rows = Vec::new();
        let mut start = None;
        loop {
            let page =
                client.scan().table_name(table).consistent_read(true).set_exclusive_start_key(start).send();
            let page = page.await.unwrap();
            rows.extend(page.items.unwrap_or_default().into_iter().map(|row| row.into_iter().collect()));
            start = page.last_evaluated_key;
            if start.is_none() {
                return Self(rows);
            }
        }
    }

    /// How many rows have a sort key that begins so.
    pub fn count(&self, begin: &str) -> usize {
        let of_kind = |row: &&Vec<(String, AttributeValue)>| {
            row.iter().any(|(name, value)| {
                name == "sk" && matches!(value, AttributeValue::S(sk) if sk.starts_with(begin))
            })
        };
        self.0.iter().filter(of_kind).count()
    }

    /// The pk and sk of each row.
    pub fn keys(&self) -> Vec<(String, String)> {
        let text = |row: &[(String, AttributeValue)], wanted: &str| {
            let found = row.iter().find(|(name, _)| name == wanted);
            found.and_then(|(_, value)| value.as_s().ok().cloned()).unwrap_or_default()
        };
        self.0.iter().map(|row| (text(row, "pk"), text(row, "sk"))).collect()
    }

    /// Everything that can be read in them.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.0.iter().flatten() {
            text.push_str(name);
            text.push('=');
            append(&mut text, value);
            text.push('\n');
        }
        text
    }
}

fn append(text: &mut String, value: &AttributeValue) {
    match value {
        AttributeValue::S(inner) | AttributeValue::N(inner) => text.push_str(inner),
        AttributeValue::B(blob) => {
            let mut inflated = Vec::new();
            let whole = DeflateDecoder::new(blob.as_ref()).read_to_end(&mut inflated).is_ok();
            let bytes = if whole { inflated.as_slice() } else { blob.as_ref() };
            text.push_str(&String::from_utf8_lossy(bytes));
        }
        // Our rows have no other kinds; whatever appears is shown all the same.
        other => text.extend([format!("{other:?}")]),
    }
}
