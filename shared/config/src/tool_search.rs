//! Deferred tools: the block `tool_search` at the top of the config (reference 1.8, 3.6; there it is in `config.yaml`).

use crate::reader::Reader;

const KEY: &str = "tool_search";
const FEWEST: u8 = 1;
const MOST: u8 = 5;

/// Whether tools are deferred until a model searches for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolSearch {
    /// Whether schemas are withheld and a search tool is offered. Default false.
    pub enabled: bool,
    /// How many tools whose keywords fit a message are offered without a search: 1 to 5. Default 3.
    pub auto_promote_top_k: u8,
}

impl Default for ToolSearch {
    fn default() -> Self {
        Self { enabled: false, auto_promote_top_k: 3 }
    }
}

impl ToolSearch {
    /// The block of a config; without one, the defaults.
    pub(crate) fn read(top: &mut Reader<'_>) -> Self {
        let default = Self::default();
        let Some(mut block) = top.object(KEY) else { return default };
        let enabled = block.bool("enabled", default.enabled);
        let given = block.integer("auto_promote_top_k").unwrap_or(default.auto_promote_top_k.into());
        let clamped = given.clamp(FEWEST.into(), MOST.into());
        if clamped != given {
            block.warn("auto_promote_top_k", "is outside 1..5 and is clamped to it");
        }
        Self { enabled, auto_promote_top_k: u8::try_from(clamped).unwrap_or(default.auto_promote_top_k) }
    }
}
