use super::*;

const TEXT: &str = ": hello\r\n\r\nevent: a\ndata: {\"x\":\ndata: \"ü\"}\n\ndata:last\rid: 7\r\r\nerror: no more\n\nevent: none\n\ndata: cut off";

fn events(chunks: impl Iterator<Item = Vec<u8>>) -> Vec<(String, String)> {
    let mut decoder = ServerSent::default();
    let all = chunks.flat_map(|chunk| decoder.push(&chunk).unwrap());
    all.map(|event| (event.name, event.data)).collect()
}

#[test]
fn events_are_the_same_wherever_the_chunks_end() {
    let wanted = vec![
        ("a".to_owned(), "{\"x\":\n\"ü\"}".to_owned()),
        (String::new(), "last".to_owned()),
        ("error".to_owned(), "no more".to_owned()),
    ];
    for size in 1..=TEXT.len() {
        assert_eq!(events(TEXT.as_bytes().chunks(size).map(<[u8]>::to_vec)), wanted, "chunks of {size}");
    }
}

#[test]
fn an_event_without_an_end_is_not_collected_for_ever() {
    let mut decoder = ServerSent::default();
    decoder.push(b"data: ").unwrap();
    let much = vec![b'x'; MAX_EVENT_BYTES];
    assert!(decoder.push(&much).unwrap_err().to_string().contains("larger than"));
}
