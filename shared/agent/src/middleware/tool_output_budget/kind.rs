//! What kind of text a long result is, so that a model knows which part of it to ask for.

use std::collections::BTreeMap;
use std::fmt;

use pudu_app::framing::inert;
use pudu_domain::text::first_chars;
use serde::de::IgnoredAny;
use serde_json::json;

/// Most fields that are named, and most characters of a name.
const NAMED: usize = 20;
const NAME_CHARS: usize = 40;

/// It.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A JSON list of so many items.
    List(usize),
    /// A JSON object with these fields, the first of so many.
    Object(Vec<String>, usize),
    /// Anything else, of so many lines.
    Text(usize),
}

impl Kind {
    #[expect(clippy::zero_sized_map_values, reason = "what the fields hold is read over and not kept")]
    pub(super) fn of(text: &str) -> Self {
        let begins = text.trim_start().chars().next();
        if begins == Some('[')
            && let Ok(items) = serde_json::from_str::<Vec<IgnoredAny>>(text)
        {
            return Self::List(items.len());
        }
        if begins == Some('{')
            && let Ok(fields) = serde_json::from_str::<BTreeMap<String, IgnoredAny>>(text)
        {
            let names = fields.keys().take(NAMED).map(|name| {
                // What JSON had escaped is structure again once it is read.
                let name = inert(json!(first_chars(name, NAME_CHARS)));
                name.as_str().unwrap_or_default().replace(char::is_control, " ")
            });
            return Self::Object(names.collect(), fields.len());
        }
        Self::Text(text.lines().count())
    }

    /// Its name for programs.
    pub(super) const fn as_str(&self) -> &'static str {
        match self {
            Self::List(_) => "json_list",
            Self::Object(..) => "json_object",
            Self::Text(_) => "text",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(items) => write!(to, "a JSON list of {items} items"),
            Self::Object(names, fields) => {
                write!(to, "a JSON object of {fields} fields ({}", names.join(", "))?;
                to.write_str(if names.len() < *fields { ", …)" } else { ")" })
            }
            Self::Text(lines) => write!(to, "text of {lines} lines"),
        }
    }
}
