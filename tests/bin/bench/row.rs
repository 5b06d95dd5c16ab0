//! One measured row: a few named values, printed as JSON or as text.

use serde_json::{Map, Value};

/// A row.
pub(crate) struct Row(Map<String, Value>);

impl Row {
    /// A row of the bench `name`.
    pub(crate) fn of(name: &str) -> Self {
        Self(Map::from_iter([("bench".to_owned(), name.into())]))
    }

    /// The row with one more value.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// The row with one more number, rounded to two digits.
    pub(crate) fn number(self, key: &str, value: f64) -> Self {
        self.with(key, (value * 100.0).round() / 100.0)
    }

    /// The row with one more number, rounded to four digits: milliseconds of what takes microseconds.
    pub(crate) fn precise(self, key: &str, value: f64) -> Self {
        self.with(key, (value * 10_000.0).round() / 10_000.0)
    }

    pub(crate) fn json(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }

    pub(crate) fn text(&self) -> String {
        let cells = self.0.iter().map(|(key, value)| match value {
            Value::String(text) => format!("{key}={text}"),
            other => format!("{key}={other}"),
        });
        cells.collect::<Vec<_>>().join("  ")
    }
}
