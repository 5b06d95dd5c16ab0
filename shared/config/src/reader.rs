//! Reads typed fields out of one JSON object, as laxly as the reference does (1.2 [measured]), and collects what is
//! wrong instead of stopping at the first. Its messages name types and rules, never a value.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::path::Path;
use crate::problem::Findings;
use crate::setting::Setting;

/// One object at one place.
pub(crate) struct Reader<'a> {
    pub(crate) map: &'a Map<String, Value>,
    pub(crate) path: Path,
    pub(crate) found: &'a mut Findings,
}

impl<'a> Reader<'a> {
    /// `value` as an object, or a finding.
    pub(crate) fn new(value: &'a Value, path: Path, found: &'a mut Findings) -> Option<Self> {
        if let Value::Object(map) = value {
            return Some(Self { map, path, found });
        }
        found.shape(&path, "must be an object");
        None
    }

    pub(crate) fn at(&self, key: &str) -> Path {
        self.path.key(key)
    }

    pub(crate) fn shape(&mut self, key: &str, message: &str) {
        let path = self.at(key);
        self.found.shape(&path, message);
    }

    pub(crate) fn rule(&mut self, key: &str, message: impl Into<String>) {
        let path = self.at(key);
        self.found.rule(&path, message);
    }

    pub(crate) fn warn(&mut self, key: &str, message: &str) {
        let path = self.at(key);
        self.found.warn(&path, message);
    }

    /// Reads what earlier releases kept without reading it: a config that is stored already may have anything there, and one
    /// value must not keep all else from being read. What `read` finds wrong is a warning, and it says what holds instead.
    pub(crate) fn tolerant<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let kept = self.found.problems.len();
        let read = read(self);
        self.found.tolerate(kept);
        read
    }

    /// The nested object at `key`; absent and null mean none.
    pub(crate) fn object(&mut self, key: &str) -> Option<Reader<'_>> {
        let value = self.map.get(key).filter(|value| !value.is_null())?;
        let path = self.at(key);
        Reader::new(value, path, self.found)
    }

    /// The nested object at `key`, where null is an error.
    pub(crate) fn object_or_absent(&mut self, key: &str) -> Option<Reader<'_>> {
        let value = self.map.get(key)?;
        let path = self.at(key);
        Reader::new(value, path, self.found)
    }

    pub(crate) fn bool(&mut self, key: &str, default: bool) -> bool {
        let Some(value) = self.map.get(key) else { return default };
        lax_bool(value).unwrap_or_else(|| {
            self.shape(key, "must be true or false");
            default
        })
    }

    /// A text; absent means `None`, null is an error.
    pub(crate) fn text(&mut self, key: &str) -> Option<String> {
        let text = self.map.get(key)?.as_str();
        if text.is_none() {
            self.shape(key, "must be a string");
        }
        text.map(str::to_owned)
    }

    /// A text that may be a reference; absent and null mean `None`.
    pub(crate) fn setting(&mut self, key: &str) -> Option<Setting> {
        let value = self.map.get(key).filter(|value| !value.is_null())?;
        let path = self.at(key);
        setting_at(value, &path, self.found)
    }

    /// A map of text to text; absent means empty, null is an error.
    pub(crate) fn settings(&mut self, key: &str) -> Vec<(String, Setting)> {
        let Some(inner) = self.object_or_absent(key) else { return Vec::new() };
        let Reader { map, path, found } = inner;
        map.iter()
            .filter_map(|(name, value)| Some((name.clone(), setting_at(value, &path.key(name), found)?)))
            .collect()
    }

    /// The elements of a list; absent means empty, anything else is an error.
    pub(crate) fn list(&mut self, key: &str) -> &'a [Value] {
        match self.map.get(key) {
            None => &[],
            Some(Value::Array(items)) => items,
            Some(_) => {
                self.shape(key, "must be a list");
                &[]
            }
        }
    }

    pub(crate) fn texts(&mut self, key: &str) -> Vec<String> {
        let path = self.at(key);
        let mut texts = Vec::new();
        for (index, item) in self.list(key).iter().enumerate() {
            match item {
                Value::String(text) => texts.push(text.clone()),
                _ => self.found.shape(&path.index(index), "must be a string"),
            }
        }
        texts
    }

    /// Seconds as a number (or its text, as the reference accepts); `None` when absent, null or 0: use the default.
    pub(crate) fn seconds(&mut self, key: &str) -> Option<Duration> {
        let value = self.map.get(key).filter(|value| !value.is_null())?;
        let Some(seconds) = lax_number(value) else {
            self.shape(key, "must be a number of seconds");
            return None;
        };
        if seconds < 0.0 {
            // The reference parses it and then fails every call at once; an existing file must go on working.
            self.warn(key, "is negative; the default of 60 seconds is used");
            return None;
        }
        let Ok(time) = Duration::try_from_secs_f64(seconds) else {
            self.rule(key, "is too large for a number of seconds");
            return None;
        };
        (!time.is_zero()).then_some(time)
    }

    /// An integer, also as an integral number or its text; fractions are an error.
    pub(crate) fn integer(&mut self, key: &str) -> Option<i64> {
        let value = self.map.get(key)?;
        let number = lax_integer(value);
        if number.is_none() {
            self.shape(key, "must be a whole number");
        }
        number
    }

    /// A finding for each key that is not in `known`.
    pub(crate) fn forbid_unknown(&mut self, known: &[&str]) {
        for key in self.map.keys().filter(|key| !known.contains(&key.as_str())) {
            let path = self.path.key(key);
            self.found.shape(&path, "is not a known field here");
        }
    }
}

fn setting_at(value: &Value, path: &Path, found: &mut Findings) -> Option<Setting> {
    let Value::String(text) = value else {
        found.shape(path, "must be a string");
        return None;
    };
    let setting = Setting::new(text.as_str());
    if let Some(flaw) = setting.flaw() {
        found.rule(path, flaw.to_string());
    }
    Some(setting)
}

/// The spellings that the reference's validator takes for a boolean.
pub(crate) fn lax_bool(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) if number.as_f64() == Some(0.0) => Some(false),
        Value::Number(number) if number.as_f64() == Some(1.0) => Some(true),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn lax_number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

fn lax_integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) if number.is_u64() => Some(number.as_i64().unwrap_or(i64::MAX)),
        Value::Number(number) => number.as_i64().or_else(|| integral(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn integral(number: f64) -> Option<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "saturates, and every use clamps far inside the range"
    )]
    (number.fract() == 0.0).then_some(number as i64)
}
