//! The one reader of JSON that comes from outside: a document that is too deep, or that two readers could read differently,
//! is no document.
//!
//! A key that stands twice in one object is refused (RFC 7493, 2.3): RFC 8259 leaves open which of the two counts, so that a
//! proxy, a log and this gateway could each see another tool in the same bytes. Taking the last one, as most libraries do, was
//! rejected for that; no client writes such a body by intention.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

pub(crate) use pudu_app::depth::MAX_DEPTH;

/// Why bytes are not taken as JSON, without repeating any of them: they may hold a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at line {line}, column {column}")]
pub(crate) struct Broken {
    fault: Fault,
    line: usize,
    column: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Ends,
    Syntax,
    Deep,
    Repeated,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ends => f.write_str("it ends too early"),
            Self::Syntax => f.write_str("a syntax error"),
            Self::Deep => write!(f, "more than {MAX_DEPTH} objects and arrays in each other"),
            Self::Repeated => f.write_str("a key stands twice in one object"),
        }
    }
}

/// Reads one document. What is refused is refused where it begins: nothing behind it is built.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, Broken> {
    let found = Cell::new(None);
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = Part { room: MAX_DEPTH, found: &found }.deserialize(&mut reader);
    read.and_then(|value| reader.end().map(|()| value)).map_err(|error| {
        let otherwise = if error.is_eof() { Fault::Ends } else { Fault::Syntax };
        Broken { fault: found.get().unwrap_or(otherwise), line: error.line(), column: error.column() }
    })
}

/// A value, and how many levels may still begin in it.
#[derive(Clone, Copy)]
struct Part<'a> {
    room: usize,
    /// What was refused that the library would have taken: it tells its own errors only as text.
    found: &'a Cell<Option<Fault>>,
}

impl Part<'_> {
    fn refused<E: serde::de::Error>(self, fault: Fault) -> E {
        self.found.set(Some(fault));
        E::custom("")
    }

    /// A level below.
    fn inside<E: serde::de::Error>(self) -> Result<Self, E> {
        let room = self.room.checked_sub(1).ok_or_else(|| self.refused(Fault::Deep))?;
        Ok(Self { room, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom(""))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let inside = self.inside::<A::Error>()?;
        let mut all = Vec::new();
        while let Some(element) = elements.next_element_seed(inside)? {
            all.push(element);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let inside = self.inside::<A::Error>()?;
        let mut all = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            if all.insert(key, fields.next_value_seed(inside)?).is_some() {
                return Err(self.refused(Fault::Repeated));
            }
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests;
