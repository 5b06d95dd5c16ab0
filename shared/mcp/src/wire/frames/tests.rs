use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn event(name: Option<&str>, data: &str) -> Event {
    Event { name: name.map(str::to_owned), data: Some(data.to_owned()), id: None }
}

fn read(text: &str) -> Vec<Result<Event, String>> {
    read_events([text.as_bytes().to_vec()])
}

#[test]
fn events_are_read_as_the_standard_has_them() {
    assert_eq!(
        read("data: a\n\nevent: x\ndata:b\ndata: c\n\n"),
        [Ok(event(None, "a")), Ok(event(Some("x"), "b\nc"))]
    );
    assert_eq!(read(": comment\n\r\ndata: a\r\n\r\n"), [Ok(event(None, "a"))]);
    assert_eq!(read("\u{feff}data: a\n\n"), [Ok(event(None, "a"))]);
    assert_eq!(read("data: never ends"), []);
    assert_eq!(read(""), []);
}

#[test]
fn a_stream_that_cannot_be_read_ends_with_one_error() {
    let bad: [&[u8]; 3] = [b"no colon\n\n", b"event: x\nevent: y\n\n", b"data: \xff\n\n"];
    for bad in bad {
        let read = read_events([[b"data: a\n\n", bad, b"data: c\n\n"].concat()]);
        assert_eq!(read.len(), 2, "{read:?}");
        assert!(read[0].is_ok() && read[1].is_err(), "what came before is kept: {read:?}");
    }
}

#[test]
fn a_stream_has_a_bound() {
    let chunk = vec![b'x'; 1024 * 1024];
    let read = read_events(std::iter::once(b"data: ".to_vec()).chain(std::iter::repeat_n(chunk, 9)));
    assert!(matches!(read.as_slice(), [Err(text)] if text.contains("8388608")), "{read:?}");
}

/// A conversation may be longer than any answer, as long as no event of it is.
#[test]
fn the_bound_of_a_conversation_is_for_each_event() {
    let chunk = || Ok(Bytes::from(format!("data: {}\n\n", "x".repeat(1024 * 1024))));
    let all = |bound| {
        let chunks = stream::iter(std::iter::repeat_with(chunk).take(20));
        frames(Redactor::default(), chunks, bound).collect::<Vec<_>>().now_or_never().unwrap()
    };
    assert!(all(Bound::Event).iter().all(Result::is_ok));
    assert!(all(Bound::Stream).iter().any(Result::is_err));
}

proptest! {
    /// Where a stream is cut into chunks is nobody's choice.
    #[test]
    fn chunks_make_no_difference(text in "((data|event|id|retry|:|x)?:? ?[a-z0-9]{0,4}(\n|\r\n|\r|)){0,12}", cuts in vec(0_usize..80, 0..6)) {
        let bytes = text.as_bytes();
        let mut at: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let chunks = at.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec());
        prop_assert_eq!(read_events(chunks), read(&text));
    }

    #[test]
    fn any_bytes_are_events_or_an_error_at_the_end(chunks in vec(vec(any::<u8>(), 0..40), 0..8)) {
        let read = read_events(chunks);
        let errors = read.iter().filter(|event| event.is_err()).count();
        prop_assert!(errors == 0 || (errors == 1 && read.last().is_some_and(Result::is_err)));
    }
}
