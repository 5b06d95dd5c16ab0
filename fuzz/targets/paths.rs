//! See `pudu_testkit::fuzz::paths`.
#![no_main]

use pudu_mcp::paths;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    pudu_testkit::fuzz::paths(data, paths::tokens, |text, lookup| paths::with_paths(text, lookup));
});
