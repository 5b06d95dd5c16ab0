//! What a person at the terminal must see although the test passes.

use std::io::Write;

/// Says that a part of the tests did not run, and what would make it run. Written past the test runner, which shows the
/// output of failed tests only.
pub fn skipped(what: &str, how: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {what}: {how}");
}
