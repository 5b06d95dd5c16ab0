//! Pieces of an answer, put together into frames that are worth a write each. Pure.

use std::time::Duration;

use pudu_app::ports::Piece;
use pudu_domain::Timestamp;
use pudu_domain::run::Notice;
use serde_json::{Map, Value, json};

/// How long pieces wait for others.
const WAIT: Duration = Duration::from_millis(200);
/// How many bytes of them are enough.
const ENOUGH: usize = 1024;
/// Most bytes of text in one frame.
const MOST: usize = 32 * 1024;

/// Characters of an answer's id that its calls carry.
const TAIL: usize = 8;
/// Most bytes of a call's own id: with the answer's there are providers that take 40.
const LONGEST_ID: usize = 31;

/// What came and was not told yet.
#[derive(Debug)]
pub(super) struct Chunks {
    id: String,
    metadata: Value,
    since: Option<Timestamp>,
    bytes: usize,
    text: String,
    thought: String,
    calls: Vec<Part>,
    /// Whether anything was told.
    pub(super) told: bool,
}

#[derive(Debug)]
struct Part {
    index: usize,
    id: Option<String>,
    name: Option<String>,
    args: String,
}

impl Chunks {
    /// Of the message `id`; `metadata` goes with each frame.
    pub(super) const fn new(id: String, metadata: Value) -> Self {
        Self {
            id,
            metadata,
            since: None,
            bytes: 0,
            text: String::new(),
            thought: String::new(),
            calls: Vec::new(),
            told: false,
        }
    }

    /// Takes a piece; says whether what there is should be told now.
    pub(super) fn take(&mut self, piece: Piece, now: Timestamp) -> bool {
        let since = *self.since.get_or_insert(now);
        match piece {
            Piece::Text(text) => {
                self.bytes += text.len();
                self.text.push_str(&text);
            }
            Piece::Thought(text) => {
                self.bytes += text.len();
                self.thought.push_str(&text);
            }
            Piece::Call { index, id, name, args } => {
                self.bytes += args.len();
                match self.calls.iter_mut().find(|part| part.index == index) {
                    Some(part) => {
                        part.id = part.id.take().or(id);
                        part.name = part.name.take().or(name);
                        part.args.push_str(&args);
                    }
                    None => self.calls.push(Part { index, id, name, args }),
                }
            }
        }
        self.bytes >= ENOUGH || now.since(since) >= WAIT
    }

    /// How long until what there is should be told; none if there is nothing.
    pub(super) fn wait(&self, now: Timestamp) -> Option<Duration> {
        self.since.map(|since| WAIT.saturating_sub(now.since(since)))
    }

    /// The frames of what there is.
    pub(super) fn flush(&mut self) -> Vec<Notice> {
        if self.since.take().is_none() {
            return Vec::new();
        }
        self.bytes = 0;
        let (thought, text) = (std::mem::take(&mut self.thought), std::mem::take(&mut self.text));
        let mut frames: Vec<Notice> = Vec::new();
        frames.extend(cut(&thought).map(|thought| self.frame("", thought, Value::Null)));
        frames.extend(cut(&text).map(|text| self.frame(text, "", Value::Null)));
        for Part { index, mut id, mut name, args } in std::mem::take(&mut self.calls) {
            let mut parts: Vec<&str> = cut(&args).collect();
            if parts.is_empty() {
                parts.push("");
            }
            for args in parts {
                let id = id.take().map(|id| unique(&self.id, &id));
                let chunk = json!([{
                    "name": name.take(), "args": args, "id": id, "index": index, "type": "tool_call_chunk",
                }]);
                frames.push(self.frame("", "", chunk));
            }
        }
        self.told |= !frames.is_empty();
        frames
    }

    fn frame(&self, text: &str, thought: &str, calls: Value) -> Notice {
        let mut beside = Map::new();
        if !thought.is_empty() {
            beside.insert("reasoning_content".to_owned(), thought.into());
        }
        let mut chunk = json!({
            "type": "AIMessageChunk", "id": self.id, "content": text, "additional_kwargs": beside, "response_metadata": {},
        });
        if let (Some(chunk), Value::Array(_)) = (chunk.as_object_mut(), &calls) {
            chunk.insert("tool_call_chunks".to_owned(), calls);
        }
        Notice::Frame { event: "messages".to_owned(), data: json!([chunk, self.metadata]) }
    }
}

/// The id of a call that a model names `id` in its answer `answer`, whose own id is random: no other answer's call has it. One
/// that is too long for a provider is replaced by its digest.
pub(super) fn unique(answer: &str, id: &str) -> String {
    let id = id.trim();
    if !id.is_empty() && id.contains(answer) {
        return id.to_owned();
    }
    let tail = answer.len().saturating_sub(TAIL);
    let tail = answer.get(tail..).unwrap_or(answer);
    match id {
        "" => format!("call-{tail}"),
        id if id.len() <= LONGEST_ID => format!("{id}-{tail}"),
        id => format!("call-{:.16}-{tail}", pudu_config::sha256_hex(&json!(id))),
    }
}

/// `text` in parts of at most [`MOST`] bytes, cut between characters; nothing of nothing.
fn cut(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut end = rest.len().min(MOST);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (part, after) = rest.split_at_checked(end)?;
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(frames: &[Notice]) -> Vec<Value> {
        let data = frames.iter().filter_map(|frame| match frame {
            Notice::Frame { data, .. } => Some(data[0].clone()),
            _ => None,
        });
        data.collect()
    }

    #[test]
    fn pieces_wait_for_others_but_not_long_and_not_for_many() {
        let at = Timestamp::from_millis;
        let mut chunks = Chunks::new("m".into(), json!({"run_id": "r"}));
        assert_eq!(chunks.wait(at(0)), None);
        assert!(!chunks.take(Piece::Text("a".into()), at(0)));
        assert_eq!(chunks.wait(at(50)), Some(Duration::from_millis(150)));
        assert!(chunks.take(Piece::Text("b".into()), at(200)));
        assert_eq!(data(&chunks.flush())[0]["content"], "ab");
        assert!(chunks.flush().is_empty());
        assert!(chunks.take(Piece::Text("x".repeat(1024)), at(300)));
    }

    #[test]
    fn a_calls_parts_keep_its_index_and_name_it_once() {
        let at = Timestamp::from_millis(0);
        let mut chunks = Chunks::new("m".into(), json!({}));
        let part = |id: Option<&str>, args: &str| Piece::Call {
            index: 0,
            id: id.map(Into::into),
            name: id.map(|_| "ls".into()),
            args: args.into(),
        };
        chunks.take(part(Some("c"), "{\"a\""), at);
        chunks.take(part(None, ":1}"), at);
        let first = data(&chunks.flush());
        assert_eq!(first[0]["tool_call_chunks"][0]["args"], "{\"a\":1}");
        assert_eq!(first[0]["tool_call_chunks"][0]["name"], "ls");
        chunks.take(part(None, &"é".repeat(20_000)), at);
        let long = data(&chunks.flush());
        assert_eq!((long.len(), &long[0]["tool_call_chunks"][0]["id"]), (2, &Value::Null));
    }
}
