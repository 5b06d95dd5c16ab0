//! What the dialects have in common: a call becomes bytes, and events become pieces and in the end a message. Nothing here
//! knows the network.

mod calls;
mod image;
mod said;

use ::http::HeaderMap;
use pudu_app::ports::{Dialect, ModelCall, Piece};
use pudu_domain::chat::Message;
use serde_json::Value;
use url::Url;

pub(crate) use calls::Calls;
pub(crate) use image::Picture;
pub(crate) use said::{Part, Said, id_within, is_thought, turns};

use crate::frames::{Decode, Event, ServerSent};
use crate::{anthropic, bedrock, openai};

/// A call as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) url: Url,
    /// The credential is among them.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// What went wrong with an answer that had begun, or before anything was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The provider says so, in an event of its stream.
    Told(Value),
    /// The stream is broken, ended early, or brought nothing.
    Dropped(String),
    /// The call cannot be made; nothing was sent.
    Unsendable(String),
}

/// What makes a message out of an answer's events.
pub(crate) trait Listener: Send {
    /// The pieces that an event brings.
    fn hear(&mut self, event: &Event) -> Result<Vec<Piece>, Trouble>;

    /// Whether the answer is whole; what comes after that does not matter.
    fn is_whole(&self) -> bool;

    /// The message, at the end of the stream.
    fn message(self: Box<Self>, id: &str) -> Result<Message, Trouble>;
}

/// How to speak with a provider.
pub(crate) struct Tongue {
    pub(crate) request: Request,
    pub(crate) decoder: Box<dyn Decode>,
    pub(crate) listener: Box<dyn Listener>,
}

impl Tongue {
    /// How a call is made in its dialect.
    pub(crate) fn of(call: &ModelCall) -> Result<Self, Trouble> {
        let model = call.entry.model.clone();
        Ok(match call.entry.dialect {
            Dialect::Anthropic => Self {
                request: anthropic::request(call)?,
                decoder: Box::new(ServerSent::default()),
                listener: Box::new(anthropic::Answer::new(model)),
            },
            Dialect::Bedrock => Self {
                request: bedrock::request(call)?,
                decoder: Box::new(bedrock::Frames::default()),
                listener: Box::new(bedrock::Answer::new(model)),
            },
            // The script never comes here.
            Dialect::OpenAi | Dialect::Scripted => Self {
                request: openai::request(call)?,
                decoder: Box::new(ServerSent::default()),
                listener: Box::new(openai::Answer::new(model)),
            },
        })
    }
}

/// The address under `base`, with its query if it has one, and one more path.
pub(crate) fn under(base: &str, path: &str) -> Result<Url, Trouble> {
    let mut url = Url::parse(base).map_err(|_| Trouble::Unsendable("its base_url is no URL".to_owned()))?;
    if !url.path().trim_end_matches('/').ends_with(path) {
        let whole = format!("{}/{path}", url.path().trim_end_matches('/'));
        url.set_path(&whole);
    }
    Ok(url)
}

/// Sets a field of an object.
pub(crate) fn set(of: &mut Value, key: &str, to: Value) {
    if let Value::Object(of) = of {
        of.insert(key.to_owned(), to);
    }
}

/// Pours what is passed on over a body: of an object its fields, so that an entry may change one of them; `null` takes one away.
pub(crate) fn pour(body: &mut Value, extra: &serde_json::Map<String, Value>) {
    let Value::Object(body) = body else { return };
    for (key, value) in extra {
        match (body.get_mut(key), value) {
            (_, Value::Null) => drop(body.shift_remove(key)),
            (Some(there @ Value::Object(_)), Value::Object(inner)) => pour(there, inner),
            _ => {
                body.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The JSON of an event.
pub(crate) fn json(event: &Event) -> Result<Value, Trouble> {
    serde_json::from_str(&event.data)
        .map_err(|_| Trouble::Dropped("an event of the answer is no JSON".to_owned()))
}

/// A number of an object; 0 if it is not there.
pub(crate) fn count(of: &Value, key: &str) -> u64 {
    of.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// A text of an object that is there and not empty.
pub(crate) fn text<'a>(of: &'a Value, key: &str) -> Option<&'a str> {
    of.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}
