//! Row 14, `DynamicContext`: what day it is and what is remembered of the user, in a reminder before what he says. It is written into
//! the conversation once, and again when the day has changed, so that everything before it stays as a provider has it in its cache. A
//! memory that changes during the day is told in the next conversation, or on the next day: telling it anew in each run would have the
//! conversation repeat what was learnt from it.

use async_trait::async_trait;
use pudu_domain::Timestamp;
use pudu_domain::chat::{Message, REMINDER, Speaker};
use pudu_domain::state::{State, Write};
use serde::{Deserialize, Serialize};

use super::{Aside, Middleware};
use crate::turn::Turn;
use pudu_app::moments::day;

/// By which name it counts.
const NAME: &str = "dynamic_context";

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
        NAME
    }

    async fn before_model(&self, turn: &mut Turn<'_>, _aside: &dyn Aside) {
        let visible = is_visible(turn.state());
        if !is_due(turn.state(), turn.now) {
            return;
        }
        let users = |message: &Message| message.speaker == Speaker::Human;
        let messages = &turn.state().messages;
        // The first time before everything that was said, later before what was said last.
        let at = if visible { messages.iter().rposition(users) } else { messages.iter().position(users) };
        let tail: Vec<Message> = at.map(|at| messages.iter().skip(at).cloned().collect()).unwrap_or_default();
        let Some((first, rest)) = tail.split_first() else { return };
        let (reminder, first) = swapped(first, turn.now, turn.options.house.memory.as_deref());
        // Replaced by id, and what follows is said again behind it: the order of everything stays.
        for message in rest {
            turn.write(Write::RemoveMessage(message.id.clone()));
        }
        turn.say(reminder);
        turn.say(first);
        for message in rest.iter().cloned() {
            turn.say(message);
        }
        turn.count(NAME, &Counters { day: day(turn.now) });
    }
}

/// Whether the reminder is to be written before the next model call.
pub(crate) fn is_due(state: &State, now: Timestamp) -> bool {
    let counted = state.counters.get(NAME).cloned().and_then(|value| serde_json::from_value(value).ok());
    let told: Counters = counted.unwrap_or_default();
    !is_visible(state) || told.day != day(now)
}

fn is_visible(state: &State) -> bool {
    state.messages.iter().any(Message::is_reminder)
}

/// The reminder, which gets the place of `message`, and `message` under another id.
fn swapped(message: &Message, now: Timestamp, memory: Option<&str>) -> (Message, Message) {
    let date = format!("<current_date>{}</current_date>", day(now));
    let parts = [Some(date.as_str()), memory].into_iter().flatten().collect::<Vec<_>>().join("\n");
    let text = format!("<system-reminder>\n{parts}\n</system-reminder>");
    let reminder = Message::new(Speaker::System, message.id.clone(), text).named(REMINDER).hidden();
    (reminder, message.reminded())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
    async fn what_is_remembered_stands_in_the_reminder_and_what_changes_later_is_not_told_again() {
        let mut world = World::new(&json!({}));
        std::sync::Arc::make_mut(&mut world.options.house).memory =
            Some("<memory>\nlikes tea\n</memory>".into());
        let mut turn = world.turn(said([human("u1", "hi")]));
        DynamicContext.before_model(&mut turn, &Says(None)).await;
        let state = turn.finish().state;
        assert_eq!(
            state.messages[0].content.text(),
            "<system-reminder>\n<current_date>1970-01-01, Thursday</current_date>\n<memory>\nlikes tea\n</memory>\n</system-reminder>"
        );
        assert!(!is_due(&state, NOW) && is_due(&state, NOW + Duration::from_hours(24)));
        std::sync::Arc::make_mut(&mut world.options.house).memory =
            Some("<memory>\nlikes coffee\n</memory>".into());
        let mut turn = world.turn(state.clone());
        DynamicContext.before_model(&mut turn, &Says(None)).await;
        assert_eq!(turn.finish().state, state);
    }

    #[tokio::test]
    async fn nobody_has_said_anything_and_nothing_is_told() {
        assert_eq!(before(State::default(), NOW).await, State::default());
    }
}
