//! The reminder of the day stands before what a user said, under its id: that message goes on under another one (agent reference
//! 7.2, row 14). Whoever knows a message by what the run was told knows the id from before; both lead to it.

use super::{Message, Speaker};

/// The name of the reminder.
pub const REMINDER: &str = "dynamic_context";
/// What the id of a message ends with that gave its own to the reminder before it.
const SWAPPED: &str = "__user";

impl Message {
    /// Whether it is such a reminder.
    pub fn is_reminder(&self) -> bool {
        self.speaker == Speaker::System && self.name.as_deref() == Some(REMINDER)
    }

    /// The same message after a reminder took its id.
    #[must_use]
    pub fn reminded(&self) -> Self {
        Self { id: format!("{}{SWAPPED}", self.id), ..self.clone() }
    }
}

/// The place of the message that was said under that id, or that has it now.
pub fn place_of(messages: &[Message], id: &str) -> Option<usize> {
    let place = messages.iter().position(|message| message.id == id)?;
    if !messages.get(place).is_some_and(Message::is_reminder) {
        return Some(place);
    }
    let behind = format!("{id}{SWAPPED}");
    messages.iter().position(|message| message.id == behind).or(Some(place))
}

/// The id under which one of these messages was said.
pub fn said_as<'a>(messages: &[Message], message: &'a Message) -> &'a str {
    let before = message.id.strip_suffix(SWAPPED);
    let is_taken = |id: &&str| messages.iter().any(|other| other.is_reminder() && other.id == **id);
    before.filter(is_taken).unwrap_or(&message.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_known_by_the_id_that_it_gave_away() {
        let said = Message::new(Speaker::Human, "u1", "hi");
        let reminder = Message::new(Speaker::System, "u1", "today").named(REMINDER).hidden();
        let own = Message::new(Speaker::Human, "u2__user", "its client calls it so");
        let talk = [reminder.clone(), said.reminded(), own.clone()];
        assert_eq!(
            ["u1", "u1__user", "u2__user", "u2"].map(|id| place_of(&talk, id)),
            [Some(1), Some(1), Some(2), None]
        );
        assert_eq!(talk.each_ref().map(|message| said_as(&talk, message)), ["u1", "u1", "u2__user"]);
        assert_eq!(place_of(&[said], "u1"), Some(0), "nobody took it");
        assert_eq!(place_of(&[reminder], "u1"), Some(0), "what was said has gone");
    }
}
