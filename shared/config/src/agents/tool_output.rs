//! The block `tool_output`: how long a tool's result may be before it is kept elsewhere and told in short (agent reference 1.4, row 2).

use super::bounded;
use crate::reader::Reader;

/// Most characters of anything that a model is shown.
const MOST: i64 = 1_000_000;

/// The block; all numbers are characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// Whether results are kept and told in short. Default true; else they are only cut.
    pub enabled: bool,
    /// A result of so many is kept and told in short, 1000 or more. Default 12,000.
    pub keep_from: usize,
    /// Of what is told in short, what is told of its beginning and of its end. Default 2000 and 1000.
    pub preview: Ends,
    /// Most of a result that could not be kept, 1000 or more. Default 30,000.
    pub most: usize,
    /// Of one that has more, what stays of its beginning and of its end. Default 8000 and 3000.
    pub cut: Ends,
    /// Tools whose results are left alone.
    pub exempt: Vec<String>,
}

/// What is told of a long text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Its beginning.
    pub head: usize,
    /// Its end.
    pub tail: usize,
}

impl Default for ToolOutput {
    fn default() -> Self {
        Self {
            enabled: true,
            keep_from: 12_000,
            preview: Ends { head: 2000, tail: 1000 },
            most: 30_000,
            cut: Ends { head: 8000, tail: 3000 },
            exempt: Vec::new(),
        }
    }
}

impl ToolOutput {
    pub(super) fn read(top: &mut Reader<'_>) -> Self {
        let default = Self::default();
        let Some(mut block) = top.object("tool_output") else { return default };
        let (kept, most) = ("externalize_min_chars", "fallback_max_chars");
        let mut read = Self {
            enabled: block.bool("enabled", default.enabled),
            keep_from: bounded(&mut block, kept, (1000, MOST)).unwrap_or(default.keep_from),
            preview: default.preview.read(&mut block, "preview_head_chars", "preview_tail_chars"),
            most: bounded(&mut block, most, (1000, MOST)).unwrap_or(default.most),
            cut: default.cut.read(&mut block, "fallback_head_chars", "fallback_tail_chars"),
            exempt: block.texts("exempt_tools"),
        };
        if read.preview.both() >= read.keep_from {
            let why = "is no more than preview_head_chars and preview_tail_chars together; all three have their defaults";
            block.warn(kept, why);
            (read.keep_from, read.preview) = (default.keep_from, default.preview);
        }
        if read.cut.both() >= read.most {
            let why = "is no more than fallback_head_chars and fallback_tail_chars together; all three have their defaults";
            block.warn(most, why);
            (read.most, read.cut) = (default.most, default.cut);
        }
        read
    }
}

impl Ends {
    fn read(self, block: &mut Reader<'_>, head: &str, tail: &str) -> Self {
        Self {
            head: bounded(block, head, (0, MOST)).unwrap_or(self.head),
            tail: bounded(block, tail, (0, MOST)).unwrap_or(self.tail),
        }
    }

    const fn both(self) -> usize {
        self.head.saturating_add(self.tail)
    }
}
