//! See `pudu_testkit::fuzz::frames`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pudu_testkit::fuzz::frames(data));
