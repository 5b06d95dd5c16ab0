//! Row 14, `DynamicContext`: what day it is, in a reminder before what the user says. It is written into the conversation once,
//! and again when the day has changed, so that everything before it stays as a provider has it in its cache.

use async_trait::async_trait;
use pudu_domain::Timestamp;
use pudu_domain::chat::{Message, Speaker};
use pudu_domain::state::Write;
use serde::{Deserialize, Serialize};

use super::{Aside, Middleware};
use crate::dates;
use crate::turn::Turn;

/// The name of the message.
pub(crate) const REMINDER: &str = "dynamic_context";
/// What the id of a message ends with that gave its own to the reminder before it.
const SWAPPED: &str = "__user";

/// The middleware.
#[derive(Debug, Clone, Copy, Default)]
pub struct DynamicContext;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Counters {
    /// The day that was told last.
    day: String,
}

#[async_trait]
impl Middleware for DynamicContext {
    fn name(&self) -> &'static str {
        "dynamic_context"
    }

    async fn before_model(&self, turn: &mut Turn<'_>, _aside: &dyn Aside) {
        let Counters { day } = turn.counters(self.name());
        let today = dates::day(turn.now);
        let visible = turn.state().messages.iter().any(|message| message.name.as_deref() == Some(REMINDER));
        if visible && day == today {
            return;
        }
        let users = |message: &Message| message.speaker == Speaker::Human;
        let messages = &turn.state().messages;
        // The first time before everything that was said, later before what was said last.
        let at = if visible { messages.iter().rposition(users) } else { messages.iter().position(users) };
        let tail: Vec<Message> = at.map(|at| messages.iter().skip(at).cloned().collect()).unwrap_or_default();
        let Some((first, rest)) = tail.split_first() else { return };
        let (reminder, first) = swapped(first, turn.now);
        // Replaced by id, and what follows is said again behind it: the order of everything stays.
        for message in rest {
            turn.write(Write::RemoveMessage(message.id.clone()));
        }
        turn.say(reminder);
        turn.say(first);
        for message in rest.iter().cloned() {
            turn.say(message);
        }
        turn.count(self.name(), &Counters { day: today });
    }
}

/// The reminder, which gets the place of `message`, and `message` under another id.
fn swapped(message: &Message, now: Timestamp) -> (Message, Message) {
    let text =
        format!("<system-reminder>\n<current_date>{}</current_date>\n</system-reminder>", dates::day(now));
    let reminder = Message::new(Speaker::System, message.id.clone(), text).named(REMINDER).hidden();
    (reminder, Message { id: format!("{}{SWAPPED}", message.id), ..message.clone() })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pudu_domain::state::State;
    use serde_json::json;

    use super::*;
    use crate::fixture::{NOW, Says, World, ai, human, said};

    async fn before(state: State, now: Timestamp) -> State {
        let world = World::new(&json!({}));
        let mut turn = Turn::new(&world.run, &world.spec, &world.options, state, now);
        DynamicContext.before_model(&mut turn, &Says(None)).await;
        turn.finish().state
    }

    fn ids(state: &State) -> Vec<&str> {
        state.messages.iter().map(|message| message.id.as_str()).collect()
    }

    #[tokio::test]
    async fn the_day_stands_before_the_first_message_and_is_told_once() {
        let state = before(said([human("u1", "hi"), ai("a1", "hello", [])]), NOW).await;
        assert_eq!(ids(&state), ["u1", "u1__user", "a1"]);
        assert!(state.messages[0].content.text().contains("1970-01-01, Thursday"));
        assert!(!state.messages[0].is_users() && state.messages[1].is_users());
        assert_eq!(before(state.clone(), NOW).await, state);
    }

    #[tokio::test]
    async fn another_day_is_told_before_the_latest_message() {
        let mut state = before(said([human("u1", "hi"), ai("a1", "hello", [])]), NOW).await;
        state.messages.push(human("u2", "and now?"));
        let state = before(state, NOW + Duration::from_hours(24)).await;
        assert_eq!(ids(&state), ["u1", "u1__user", "a1", "u2", "u2__user"]);
        assert!(state.messages[3].content.text().contains("1970-01-02, Friday"));
    }

    #[tokio::test]
    async fn nobody_has_said_anything_and_nothing_is_told() {
        assert_eq!(before(State::default(), NOW).await, State::default());
    }
}
