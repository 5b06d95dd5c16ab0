//! SSE frames: whatever a server streams.

/// What was read: of each event its name, data and id, or an error's text.
pub type Read = Vec<Result<[Option<String>; 3], String>>;

/// The first byte of `data` says where the network cuts the rest. It changes nothing about the events that `read` finds; an
/// error is the last thing that is read; and an event says nothing that is not in the stream.
pub fn frames(data: &[u8], read: impl Fn(Vec<Vec<u8>>) -> Read) {
    let Some((cut, stream)) = data.split_first() else { return };
    let whole = read(vec![stream.to_vec()]);
    let pieces = read(stream.chunks(usize::from(*cut) + 1).map(<[u8]>::to_vec).collect());
    assert_eq!(whole, pieces, "where the stream is cut changes what it says");
    let error = whole.iter().position(Result::is_err);
    assert!(error.is_none_or(|at| at + 1 == whole.len()), "read on behind an error: {whole:?}");

    let text = String::from_utf8_lossy(stream);
    for said in whole.iter().flatten().flatten().flatten().flat_map(|said| said.split('\n')) {
        assert!(text.contains(said), "{said:?} was never sent");
    }
}
