//! Row 26, `SystemMessageCoalescing`: one system's message, in front: strict providers take no other. What stands in the
//! conversation comes behind the part that never changes.

use async_trait::async_trait;
use pudu_domain::chat::{Message, Speaker};

use super::{Middleware, Request};
use crate::turn::Turn;

/// The middleware.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemMessageCoalescing;

#[async_trait]
impl Middleware for SystemMessageCoalescing {
    fn name(&self) -> &'static str {
        "system_message_coalescing"
    }

    fn shape(&self, _turn: &Turn<'_>, request: &mut Request) {
        let (system, others): (Vec<Message>, Vec<Message>) =
            std::mem::take(&mut request.messages).into_iter().partition(|it| it.speaker == Speaker::System);
        request.messages = others;
        let texts = system.iter().map(|message| message.content.text());
        request.system.extend(texts.filter(|text| !text.trim().is_empty()));
    }
}

#[cfg(test)]
mod tests {
    use pudu_domain::state::State;
    use serde_json::json;

    use super::*;
    use crate::fixture::{World, human};

    #[test]
    fn all_of_it_stands_in_front_in_its_order() {
        let world = World::new(&json!({}));
        let system = |text: &str| Message::new(Speaker::System, text, text);
        let messages = vec![system("b"), human("u", "hi"), system(" "), system("c")];
        let mut request = Request { system: vec!["a".into()], messages, tools: vec![] };
        SystemMessageCoalescing.shape(&world.turn(State::default()), &mut request);
        assert_eq!((request.system, request.messages.len()), (vec!["a".into(), "b".into(), "c".into()], 1));
    }
}
