//! See `pudu_testkit::fuzz::config`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pudu_testkit::fuzz::config(data));
