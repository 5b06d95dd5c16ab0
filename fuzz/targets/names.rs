//! See `pudu_testkit::fuzz::names`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pudu_testkit::fuzz::names(data));
