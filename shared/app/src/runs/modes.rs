//! Which frames of a run's stream somebody wants (agent reference 2.3, 2.6).

use std::collections::BTreeSet;

use serde_json::Value;

/// The event that shows a state.
pub const VALUES: &str = "values";
/// What each step wrote, by its node.
pub const UPDATES: &str = "updates";
/// Steps as they begin and end.
pub const TASKS: &str = "tasks";
/// Checkpoints as they are written.
pub const CHECKPOINTS: &str = "checkpoints";
/// Both, under one name.
pub const DEBUG: &str = "debug";

/// Every mode that may be asked for, with the event that it stands for.
const MODES: [(&str, &str); 7] = [
    (VALUES, VALUES),
    ("messages-tuple", "messages"),
    (UPDATES, UPDATES),
    (TASKS, TASKS),
    (CHECKPOINTS, CHECKPOINTS),
    (DEBUG, DEBUG),
    ("custom", "custom"),
];

/// The events that are told beside those that everybody hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modes(BTreeSet<&'static str>);

/// A mode that there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "stream_mode must be one or more of values, messages-tuple, updates, tasks, checkpoints, debug, custom"
)]
pub struct UnknownMode;

impl Default for Modes {
    fn default() -> Self {
        Self(BTreeSet::from([VALUES]))
    }
}

impl Modes {
    /// Those of a request: one name, or a list of them; null and nothing are the default.
    pub fn read(value: &Value) -> Result<Self, UnknownMode> {
        match value {
            Value::Null => Ok(Self::default()),
            Value::String(name) => Self::named([name.as_str()]),
            Value::Array(names) => {
                let names: Option<Vec<&str>> = names.iter().map(Value::as_str).collect();
                Self::named(names.ok_or(UnknownMode)?)
            }
            _ => Err(UnknownMode),
        }
    }

    /// Those of these names; none is the default.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownMode> {
        let event = |name: &str| MODES.iter().find(|(mode, _)| *mode == name).map(|(_, event)| *event);
        let events: BTreeSet<&str> =
            names.into_iter().map(|name| event(name).ok_or(UnknownMode)).collect::<Result<_, _>>()?;
        Ok(if events.is_empty() { Self::default() } else { Self(events) })
    }

    /// Whether a frame of that event is told. What no mode stands for is told to everybody; of a subgraph's event the part before `|`
    /// counts.
    pub fn has(&self, event: &str) -> bool {
        let event = event.split_once('|').map_or(event, |(event, _)| event);
        self.0.contains(event) || !MODES.iter().any(|(_, known)| *known == event)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn modes_are_one_name_or_several_and_values_by_default() {
        let modes = Modes::read(&json!(["messages-tuple", "custom"])).unwrap();
        assert!(modes.has("messages") && modes.has("custom") && !modes.has("values"));
        assert!(
            modes.has("messages|tools:1") && modes.has("metadata") && modes.has("end") && modes.has("error")
        );
        for mode in ["values", "updates", "tasks", "checkpoints", "debug", "custom"] {
            let modes = Modes::read(&json!(mode)).unwrap();
            assert!(modes.has(mode) && modes.has("end"));
            assert_eq!(MODES.iter().filter(|(_, event)| modes.has(event)).count(), 1, "{mode}");
        }
        for usual in [json!(null), json!([]), json!("values")] {
            assert_eq!(Modes::read(&usual), Ok(Modes::default()), "{usual}");
        }
        for wrong in [json!("messages"), json!("events"), json!(["values", 1]), json!({}), json!(1)] {
            assert_eq!(Modes::read(&wrong), Err(UnknownMode), "{wrong}");
        }
    }
}
