//! See `pudu_testkit::fuzz::variables`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pudu_testkit::fuzz::variables(data));
