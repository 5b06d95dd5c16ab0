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
}

impl Calls {
    /// More of the call at the provider's place `at`. An id that differs from that of the call there begins another one, because
    /// some providers give every call the same place.
    pub(crate) fn more(
        &mut self,
        at: u64,
        id: Option<&str>,
        name: Option<&str>,
        args: &str,
    ) -> Option<Piece> {
        let at_place = self.begun.iter().rposition(|(place, _)| *place == at);
        let is_another = |begun: &Begun| id.is_some_and(|id| !begun.id.is_empty() && begun.id != id);
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

    pub(crate) const fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    /// Puts them into the message: what cannot be made is among the invalid ones. A call without an id gets one.
    pub(crate) fn into(self, message: &mut Message) {
        for (index, (_, begun)) in self.begun.into_iter().enumerate() {
            let id = if begun.id.is_empty() { format!("call_{}_{index}", message.id) } else { begun.id };
            let args = if begun.args.trim().is_empty() { "{}" } else { begun.args.as_str() };
            let error = match serde_json::from_str::<Map<String, Value>>(args) {
                Ok(args) if !begun.name.is_empty() => {
                    message.tool_calls.push(ToolCall::new(id, begun.name, args));
                    continue;
                }
                Ok(_) => "it names no tool",
                Err(_) => "its arguments are no JSON object",
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
