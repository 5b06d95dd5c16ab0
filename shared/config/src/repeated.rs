//! Keys that a file gives twice in one object. JSON readers take the last one, so that a block that was copied and not
//! renamed hides the one above it; the value that is read no longer tells.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::path::{Path, Step};
use crate::problem::{Kind, Problem};
use crate::text::without_mark;

/// A warning for each key that stands more than once in one object. What is no JSON has none.
pub fn repeated_keys(bytes: &[u8]) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(without_mark(bytes));
    let read = Look { path: &mut Path::default(), found: &mut found }.deserialize(&mut reader);
    if read.is_ok() { found } else { Vec::new() }
}

/// Looks through one value.
struct Look<'a> {
    path: &'a mut Path,
    found: &'a mut Vec<Problem>,
}

impl Look<'_> {
    fn below(&mut self, step: Step) -> Look<'_> {
        self.path.push(step);
        Look { path: self.path, found: self.found }
    }
}

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            let time = times.entry(key.clone()).or_default();
            *time += 1;
            // Said once, however often it stands there.
            if *time == 2 {
                let message = "stands here more than once; only the last one counts";
                self.found.push(Problem::new(Kind::Warning, &self.path.key(&key), message));
            }
            map.next_value_seed(self.below(Step::Key(key)))?;
            self.path.pop();
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let mut index = 0;
        while list.next_element_seed(self.below(Step::Index(index)))?.is_some() {
            self.path.pop();
            index += 1;
        }
        self.path.pop();
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(text: &str) -> Vec<String> {
        repeated_keys(text.as_bytes()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_key_that_stands_twice_is_named_once_with_its_place() {
        let told = repeated(
            r#"{"mcpServers": {"a": {"command": "CANARY"}, "b": {"args": [1, {"x y": null, "x y": 2.5, "x y": true}]}, "a": {}}, "b": -1}"#,
        );
        assert_eq!(
            told,
            [
                "mcpServers.b.args[1][\"x y\"]: stands here more than once; only the last one counts",
                "mcpServers.a: stands here more than once; only the last one counts",
            ]
        );
    }

    #[test]
    fn the_same_key_in_two_objects_is_none_and_what_is_no_json_is_said_elsewhere() {
        let mark = "\u{feff}";
        for text in ["", "{", "5", r#"{"a": 1, "a": 2"#, r#"{"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]}"#] {
            assert_eq!(repeated(text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(repeated(&format!(r#"{mark}{{"a": 1, "a": 2}}"#)).len(), 1);
    }
}
