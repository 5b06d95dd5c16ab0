//! Routing hints (reference 1.3). Which fields were given matters, so an override keeps its gaps.

use crate::reader::Reader;

/// Whether tools are offered with a hint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No hint.
    #[default]
    Off,
    /// A hint when a keyword fits.
    Prefer,
}

/// A server's, or one tool's, routing with every field known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routing {
    /// Whether there is a hint at all.
    pub mode: Mode,
    /// 0 to 100; higher goes first.
    pub priority: u8,
    /// No keywords mean no hint.
    pub keywords: Vec<String>,
}

/// The fields that a tool's own routing gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoutingOverride {
    /// Replaces the mode.
    pub mode: Option<Mode>,
    /// Replaces the priority.
    pub priority: Option<u8>,
    /// Replaces the keywords.
    pub keywords: Option<Vec<String>>,
}

impl Routing {
    pub(super) fn overlaid(&self, given: &RoutingOverride) -> Self {
        Self {
            mode: given.mode.unwrap_or(self.mode),
            priority: given.priority.unwrap_or(self.priority),
            keywords: given.keywords.clone().unwrap_or_else(|| self.keywords.clone()),
        }
    }
}

impl RoutingOverride {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        reader.forbid_unknown(&["mode", "priority", "keywords"]);
        let mode = match reader.text("mode").as_deref() {
            None => None,
            Some("off") => Some(Mode::Off),
            Some("prefer") => Some(Mode::Prefer),
            Some(_) => {
                reader.rule("mode", "must be 'off' or 'prefer'");
                None
            }
        };
        let priority = reader.integer("priority").map(|given| {
            let clamped = u8::try_from(given.clamp(0, 100)).unwrap_or_default();
            if i64::from(clamped) != given {
                reader.warn("priority", "is outside 0..100 and is clamped to it");
            }
            clamped
        });
        let keywords = reader.map.contains_key("keywords").then(|| reader.texts("keywords"));
        Self { mode, priority, keywords }
    }
}
