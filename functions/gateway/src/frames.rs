//! Frames of a run's stream as they are sent, byte for byte as the reference sends them (agent reference 2.6).

use std::io;

use axum::body::Bytes;
use pudu_app::runs::follow::Frame;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// A sign of life.
pub(crate) const HEARTBEAT: &[u8] = b": heartbeat\n\n";

/// JSON with a space behind each comma and colon, as the reference's library writes it; characters stay as they are.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

/// The bytes of a frame: event, data, id, in this order.
pub(crate) fn bytes(frame: &Frame) -> Bytes {
    let mut out = format!("event: {}\ndata: ", frame.event).into_bytes();
    spaced(&frame.data, &mut out);
    if let Some(id) = frame.id {
        out.extend_from_slice(format!("\nid: {id}").as_bytes());
    }
    out.extend_from_slice(b"\n\n");
    Bytes::from(out)
}

fn spaced(data: &Value, out: &mut Vec<u8>) {
    // A value in memory always writes.
    let _: Result<(), _> = data.serialize(&mut Serializer::with_formatter(out, Spaced));
}

#[cfg(test)]
mod tests {
    use pudu_app::runs::follow::FrameId;
    use pudu_domain::Timestamp;
    use serde_json::json;

    use super::*;

    fn sent(event: &str, data: Value, id: Option<FrameId>) -> String {
        let frame = Frame { id, event: event.to_owned(), data };
        String::from_utf8(bytes(&frame).to_vec()).unwrap()
    }

    #[test]
    fn vector_8_a_frame_is_event_data_id_and_an_empty_line() {
        let id = Some(FrameId { at: Timestamp::from_millis(1), seq: 0 });
        let data = json!({"run_id": "r", "thread_id": "t"});
        let expected = "event: metadata\ndata: {\"run_id\": \"r\", \"thread_id\": \"t\"}\nid: 1-0\n\n";
        assert_eq!(sent("metadata", data, id), expected);
    }

    #[test]
    fn vector_9_a_frame_without_an_id_has_no_line_for_one() {
        assert_eq!(sent("end", Value::Null, None), "event: end\ndata: null\n\n");
    }

    #[test]
    fn vector_10_characters_stay_as_they_are() {
        assert_eq!(sent("custom", json!({"a": "中"}), None), "event: custom\ndata: {\"a\": \"中\"}\n\n");
    }

    #[test]
    fn a_frame_is_always_one_line_of_data() {
        let data = json!([1, [], {}, {"a": ["x\ny", null, 1.5, true]}]);
        assert_eq!(
            sent("custom", data, None),
            "event: custom\ndata: [1, [], {}, {\"a\": [\"x\\ny\", null, 1.5, true]}]\n\n"
        );
    }
}
