//! The tool calls of an answer, put together from pieces.

use pudu_app::ports::Piece;
use pudu_domain::chat::{InvalidToolCall, Message, ToolCall};
use serde_json::{Map, Value};

/// Most calls of one answer; a stream that names a higher place is broken.
const MOST: usize = 256;

/// Calls in the making, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// By the place that the provider gives each.
    begun: Vec<(u64, Begun)>,
}

#[derive(Debug, Default)]
struct Begun {
    id: String,
    name: String,
    args: String,
    extra: Option<Value>,
}

impl Begun {
    /// Whether a piece belongs to another call, though its provider gives it the same place, as some do with all of them: its id
    /// is another one, or it has none, is a call of its own, and this one is whole.
    fn is_another(&self, id: Option<&str>, name: Option<&str>, args: &str) -> bool {
        match id {
            Some(id) => !self.id.is_empty() && self.id != id,
            None => name.is_some() && !args.is_empty() && !self.args.is_empty() && self.args().is_some(),
        }
    }

    fn args(&self) -> Option<Map<String, Value>> {
        let args = if self.args.trim().is_empty() { "{}" } else { self.args.as_str() };
        serde_json::from_str(args).ok()
    }
}

impl Calls {
    /// More of the call at the provider's place `at`, or its beginning.
    pub(crate) fn more(
        &mut self,
        at: u64,
        id: Option<&str>,
        name: Option<&str>,
        args: &str,
    ) -> Option<Piece> {
        let at_place = self.begun.iter().rposition(|(place, _)| *place == at);
        let is_another = |begun: &Begun| begun.is_another(id, name, args);
        let known =
            at_place.filter(|index| self.begun.get(*index).is_some_and(|(_, begun)| !is_another(begun)));
        let index = match known {
            Some(index) => index,
            None if self.begun.len() >= MOST => return None,
            None => {
                self.begun.push((at, Begun::default()));
                self.begun.len() - 1
            }
        };
        let (_, begun) = self.begun.get_mut(index)?;
        // Some repeat id and name in every piece.
        let id = id.filter(|_| begun.id.is_empty());
        let name = name.filter(|_| begun.name.is_empty());
        begun.id.push_str(id.unwrap_or_default());
        begun.name.push_str(name.unwrap_or_default());
        begun.args.push_str(args);
        let (id, name) = (id.map(str::to_owned), name.map(str::to_owned));
        (id.is_some() || name.is_some() || !args.is_empty()).then(|| Piece::Call {
            index,
            id,
            name,
            args: args.to_owned(),
        })
    }

    /// More of the arguments of a call that has begun there. Providers whose calls begin with an event of their own have other
    /// blocks with arguments too: of tools that they run themselves.
    pub(crate) fn go_on(&mut self, at: u64, args: &str) -> Option<Piece> {
        self.begun.iter().any(|(place, _)| *place == at).then(|| self.more(at, None, None, args)).flatten()
    }

    /// What the provider wants back with the call that was last at that place.
    pub(crate) fn beside(&mut self, at: u64, extra: &Value) {
        if let Some((_, begun)) = self.begun.iter_mut().rfind(|(place, _)| *place == at) {
            begun.extra = Some(extra.clone());
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    /// Puts them into the message: what cannot be made is among the invalid ones. A call without an id gets one.
    pub(crate) fn into(self, message: &mut Message) {
        for (index, (_, begun)) in self.begun.into_iter().enumerate() {
            let args = begun.args();
            let id = if begun.id.is_empty() { format!("call_{}_{index}", message.id) } else { begun.id };
            let error = match args {
                Some(args) if !begun.name.is_empty() => {
                    let call = ToolCall::new(id, begun.name, args);
                    message.tool_calls.push(ToolCall { extra_content: begun.extra, ..call });
                    continue;
                }
                Some(_) => "it names no tool",
                None => "its arguments are no JSON object",
            };
            message.invalid_tool_calls.push(InvalidToolCall {
                name: Some(begun.name).filter(|name| !name.is_empty()),
                args: Some(begun.args),
                id: Some(id),
                error: Some(error.to_owned()),
            });
        }
    }
}
