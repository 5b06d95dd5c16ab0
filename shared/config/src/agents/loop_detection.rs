//! The block `loop_detection`: after how many calls of one kind an agent is warned, and after how many it is stopped (agent
//! reference 1.6).

use std::collections::BTreeMap;

use super::{bounded, each};
use crate::reader::Reader;

/// Most calls that any of the numbers can be.
const MOST: i64 = 100_000;

/// The block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopDetection {
    /// Whether it is done. Default true.
    pub enabled: bool,
    /// Turns that are looked back at, 1 to 1000. Default 20.
    pub window: usize,
    /// Turns of the same calls. Default 3 and 5.
    pub repeated: Limits,
    /// Calls of one tool in a run. Default 30 and 50.
    pub frequent: Limits,
    /// The same for tools that are meant to be called more often, or less, by their names.
    pub by_tool: BTreeMap<String, Limits>,
}

/// How many are too many; each at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Here the model is warned.
    pub warn: u32,
    /// Here the run is ended; never less.
    pub stop: u32,
}

impl Default for LoopDetection {
    fn default() -> Self {
        Self {
            enabled: true,
            window: 20,
            repeated: Limits { warn: 3, stop: 5 },
            frequent: Limits { warn: 30, stop: 50 },
            by_tool: BTreeMap::new(),
        }
    }
}

impl LoopDetection {
    pub(super) fn read(top: &mut Reader<'_>) -> Self {
        let default = Self::default();
        let Some(mut block) = top.object("loop_detection") else { return default };
        let of_all = |warn: &str| format!("is less than {warn}; both have their defaults");
        let frequent = default.frequent.read(&mut block, ("tool_freq_warn", "tool_freq_hard_limit"), of_all);
        let of_one =
            |warn: &str| format!("is less than {warn}; tool_freq_warn and tool_freq_hard_limit hold");
        let read = Self {
            enabled: block.bool("enabled", default.enabled),
            window: bounded(&mut block, "window_size", (1, 1000)).unwrap_or(default.window),
            repeated: default.repeated.read(&mut block, ("warn_threshold", "hard_limit"), of_all),
            frequent,
            by_tool: each(&mut block, "tool_freq_overrides", |entry| {
                frequent.read(entry, ("warn", "hard_limit"), of_one)
            }),
        };
        if usize::try_from(read.repeated.stop).is_ok_and(|stop| stop > read.window) {
            block.warn("window_size", "is less than hard_limit, so no run is ever stopped by it");
        }
        read
    }
}

impl Limits {
    /// What is said of them in `block`; of what is not said, these. So it is where they contradict each other, which is told as
    /// `contradict` says it of the key of the warning.
    fn read(
        self,
        block: &mut Reader<'_>,
        (warn, stop): (&str, &str),
        contradict: impl Fn(&str) -> String,
    ) -> Self {
        let read = Self {
            warn: bounded(block, warn, (1, MOST)).unwrap_or(self.warn),
            stop: bounded(block, stop, (1, MOST)).unwrap_or(self.stop),
        };
        if read.stop < read.warn {
            block.warn(stop, &contradict(warn));
            return self;
        }
        read
    }
}
