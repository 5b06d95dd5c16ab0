//! Server-sent events out of bytes as they come: a border between two chunks may be anywhere, in the middle of a character too.

/// Most bytes of an event that is not over yet.
const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its name; empty if it has none.
    pub(crate) name: String,
    /// Its data, lines joined.
    pub(crate) data: String,
}

/// The stream is none of the kind that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Broken(pub(crate) String);

/// What brings events out of bytes.
pub(crate) trait Decode: Send {
    /// The events that are whole with these bytes.
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, Broken>;

    /// What is left when no more bytes come; of a stream nothing, since what has no end was cut off.
    fn end(&mut self) -> Option<Event> {
        None
    }
}

/// Server-sent events.
#[derive(Debug, Default)]
pub(crate) struct ServerSent {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    after_return: bool,
}

impl Decode for ServerSent {
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, Broken> {
        let mut events = Vec::new();
        for &byte in bytes {
            let is_second = std::mem::take(&mut self.after_return) && byte == b'\n';
            match byte {
                _ if is_second => {}
                b'\r' | b'\n' => {
                    self.after_return = byte == b'\r';
                    events.extend(self.line_ended());
                }
                _ => self.line.push(byte),
            }
        }
        if self.line.len() + self.event.data.len() > MAX_EVENT_BYTES {
            return Err(Broken(format!("an event of the answer is larger than {MAX_EVENT_BYTES} bytes")));
        }
        Ok(events)
    }
}

/// An answer that is no stream: one event, the whole of it.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    bytes: Vec<u8>,
}

impl Decode for Whole {
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, Broken> {
        if self.bytes.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(Broken(format!("the answer is larger than {MAX_EVENT_BYTES} bytes")));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(Vec::new())
    }

    fn end(&mut self) -> Option<Event> {
        let data = String::from_utf8_lossy(&std::mem::take(&mut self.bytes)).into_owned();
        (!data.trim().is_empty()).then(|| Event { name: String::new(), data })
    }
}

impl ServerSent {
    fn line_ended(&mut self) -> Option<Event> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" | "error" => {
                // No field that the standard knows: servers on llama.cpp say in it why they stop.
                if field == "error" {
                    "error".clone_into(&mut self.event.name);
                }
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            // Comments, ids and what nobody knows.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests;
