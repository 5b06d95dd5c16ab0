//! The binary frames of a Bedrock stream as events: checked, and named by their headers.

use aws_smithy_eventstream::frame::{DecodedFrame, MessageFrameDecoder};
use aws_smithy_types::event_stream::{HeaderValue, Message};
use bytes::BytesMut;

use super::answer::EXCEPTION;
use crate::frames::{Broken, Decode, Event};

/// Frames in the making.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    decoder: MessageFrameDecoder,
    bytes: BytesMut,
}

impl Decode for Frames {
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, Broken> {
        self.bytes.extend_from_slice(bytes);
        let mut events = Vec::new();
        loop {
            // The error says lengths and checksums, and no content.
            let decoded = self.decoder.decode_frame(&mut self.bytes);
            match decoded.map_err(|error| Broken(format!("a frame of the answer does not read: {error}")))? {
                DecodedFrame::Complete(message) => events.push(event(&message)),
                DecodedFrame::Incomplete => return Ok(events),
            }
        }
    }
}

fn event(message: &Message) -> Event {
    let header = |name: &str| {
        let found = message.headers().iter().find(|header| header.name().as_str() == name)?;
        match found.value() {
            HeaderValue::String(text) => Some(text.as_str().to_owned()),
            _ => None,
        }
    };
    let data = String::from_utf8_lossy(message.payload()).into_owned();
    let name = match header(":message-type").as_deref() {
        None | Some("event") => header(":event-type").unwrap_or_default(),
        Some(_) => {
            let kind = header(":exception-type").or_else(|| header(":error-code")).unwrap_or_default();
            format!("{EXCEPTION}{kind}")
        }
    };
    // An error of the stream itself says what it is in its headers alone.
    let data = match header(":error-message") {
        Some(message) if data.is_empty() => serde_json::json!({ "message": message }).to_string(),
        _ => data,
    };
    Event { name, data }
}
