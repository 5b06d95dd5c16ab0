//! See `pudu_testkit::fuzz::frames`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pudu_testkit::fuzz::frames(data, |chunks| {
    let event = |event: pudu_mcp::Event| [event.name, event.data, event.id];
    pudu_mcp::read_events(chunks).into_iter().map(|read| read.map(event)).collect()
}));
