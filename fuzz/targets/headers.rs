//! See `pudu_testkit::fuzz::headers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pudu_testkit::fuzz::headers(data));
