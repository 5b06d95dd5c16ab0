//! Making an answer anew: what a run is begun with to say once more what was said, from where it was said (agent reference 2.2).
//!
//! Nothing is written: a replay is an input and a checkpoint, and a run that begins with both is one like any other.

use pudu_domain::chat::{Content, Message, Speaker, place_of, said_as};
use pudu_domain::conversation::Head;
use pudu_domain::state::State;
use pudu_domain::{Conversation, RunId, ThreadKey};
use serde_json::{Value, json};

use super::state::chain;
use super::{CheckpointError, Runs};
use crate::ports::StoreError;

/// Of a run's metadata: how it replays another.
pub const REPLAY_KIND: &str = "replay_kind";
/// That it says something else.
pub const EDIT: &str = "edit";

/// What a run is begun with.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// What stood before that and is in no checkpoint without it; said first.
    pub before: Vec<Message>,
    /// What is said to it.
    pub said: Message,
    /// From which checkpoint it begins.
    pub base: Head,
    /// The run that heard it before.
    pub run: RunId,
    /// The answer that is made anew.
    pub answer: String,
    /// What the user had said, by its id in the state.
    pub asked: String,
    /// Messages that the run takes the place of, that one first.
    pub replaced: Vec<String>,
}

/// Why there is nothing to begin a run with.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The state could not be read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// There is no such thread, or it is being deleted.
    #[error("there is no such thread")]
    NoThread,
    /// The newest state has no such message.
    #[error("the thread's state has no such message")]
    NoMessage,
    /// A run is active.
    #[error("the thread has an active run; wait for it or cancel it")]
    Busy,
    /// Something was said since.
    #[error("only the latest answer can be made anew, and only what was said before it can be edited")]
    NotLatest,
    /// Another speaker's message.
    #[error(
        "the message is none that can be replayed: name an answer to make anew, or what the user said to edit it"
    )]
    OtherSpeaker,
    /// Nobody said anything before the answer, or it has left the state.
    #[error("what the answer was given to is not in the thread's state any more")]
    NoQuestion,
    /// No checkpoint has what stands before the question without the question, and no client may say it.
    #[error(
        "what stands before the question came into the thread together with it, and only an agent can write it"
    )]
    Together,
    /// The edited text is empty.
    #[error("replacement_text must not be empty")]
    Empty,
    /// The edited text is what was said.
    #[error("replacement_text is what was said; make the answer anew instead")]
    Unchanged,
}

impl From<StoreError> for ReplayError {
    fn from(error: StoreError) -> Self {
        Self::Checkpoint(error.into())
    }
}

/// Which messages of a state a replay is about, by place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Turn {
    said: usize,
    answer: usize,
}

impl Runs {
    /// What makes the answer of that id anew: the latest one of the thread.
    pub async fn regenerate(&self, thread: &ThreadKey, answer: &str) -> Result<Replay, ReplayError> {
        let (conversation, head, state) = self.rest(thread).await?;
        let turn = answered(&state.messages, answer)?;
        self.replay(&conversation, head, &state, turn).await
    }

    /// What says `text` in the place of what the user said last.
    pub async fn edit(&self, thread: &ThreadKey, said: &str, text: &str) -> Result<Replay, ReplayError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ReplayError::Empty);
        }
        let (conversation, head, state) = self.rest(thread).await?;
        let turn = editable(&state.messages, said)?;
        let replay = self.replay(&conversation, head, &state, turn).await?;
        if replay.said.content.text().trim() == text {
            return Err(ReplayError::Unchanged);
        }
        let mut edited = replay.said;
        edited.id = self.run_id().to_string();
        edited.content = reworded(edited.content, text);
        Ok(Replay { said: edited, ..replay })
    }

    /// The state of a thread that no run is at work in.
    async fn rest(&self, thread: &ThreadKey) -> Result<(Conversation, Head, State), ReplayError> {
        let view = self.state(thread, None).await?.ok_or(ReplayError::NoThread)?;
        if view.active.is_some() {
            return Err(ReplayError::Busy);
        }
        Ok((view.conversation, view.checkpoint.head, view.state))
    }

    async fn replay(
        &self,
        conversation: &Conversation,
        head: Head,
        state: &State,
        turn: Turn,
    ) -> Result<Replay, ReplayError> {
        let turned = state.messages.get(turn.said..=turn.answer).unwrap_or_default();
        let (Some(said), Some(answer)) = (turned.first(), turned.last()) else {
            return Err(ReplayError::NoQuestion);
        };
        let ids = [said_as(&state.messages, said), &said.id];
        let (run, base, had) = self.where_said(conversation, head, ids).await?;
        let (before, again) = said_again(&state.messages, turn.said, &had.messages)?;
        Ok(Replay {
            before,
            said: again,
            base,
            run,
            answer: answer.id.clone(),
            asked: said.id.clone(),
            replaced: turned.iter().map(|message| message.id.clone()).collect(),
        })
    }

    /// The run to which a message of one of these ids was said, and the checkpoint before it with its state: the first of the chain
    /// that has the message, from the newest back. One state is read for each run since.
    async fn where_said(
        &self,
        conversation: &Conversation,
        mut head: Head,
        ids: [&str; 2],
    ) -> Result<(RunId, Head, State), ReplayError> {
        loop {
            let run = chain(&conversation.thread, &head);
            let first = self.store.history(&run, 0, 1).await?.into_iter().next();
            let Some(first) = first else { return Err(ReplayError::NoQuestion) };
            let before = first.parent.unwrap_or_else(|| conversation.beginning());
            let state = self.checkpoints.state(&chain(&conversation.thread, &before), before.number).await?;
            if state.messages.iter().all(|said| !ids.contains(&said.id.as_str())) {
                return Ok((run.id, before, state));
            }
            head = before;
        }
    }
}

/// The turn that ends with that answer, which must be the last.
fn answered(messages: &[Message], answer: &str) -> Result<Turn, ReplayError> {
    let place = messages.iter().position(|message| message.id == answer).ok_or(ReplayError::NoMessage)?;
    let is_answer = |message: &Message| message.speaker == Speaker::Ai && !message.is_hidden();
    if !messages.get(place).is_some_and(is_answer) {
        return Err(ReplayError::OtherSpeaker);
    }
    if messages.iter().rposition(is_answer) != Some(place)
        || messages.iter().skip(place).any(Message::is_from_user)
    {
        return Err(ReplayError::NotLatest);
    }
    let said = messages.iter().take(place).rposition(Message::is_from_user).ok_or(ReplayError::NoQuestion)?;
    Ok(Turn { said, answer: place })
}

/// The turn that begins with what the user said under that id, which must be the last that was said, and answered.
fn editable(messages: &[Message], said: &str) -> Result<Turn, ReplayError> {
    let place = place_of(messages, said).ok_or(ReplayError::NoMessage)?;
    if !messages.get(place).is_some_and(Message::is_users) {
        return Err(ReplayError::OtherSpeaker);
    }
    if messages.iter().skip(place + 1).any(Message::is_from_user) {
        return Err(ReplayError::NotLatest);
    }
    let is_answer = |message: &Message| message.speaker == Speaker::Ai && !message.is_hidden();
    let answer = messages.iter().rposition(is_answer).filter(|answer| *answer > place);
    Ok(Turn { said: place, answer: answer.unwrap_or(place) })
}

/// What is said again to a run that begins where only `had` was said: the message of that place, under the id under which it was
/// said, and before it what stands there and is not had, because it came into the thread with it. Left out is what the agent tells
/// itself, which it tells itself again.
fn said_again(
    messages: &[Message],
    place: usize,
    had: &[Message],
) -> Result<(Vec<Message>, Message), ReplayError> {
    let again = |message: &Message| Message { id: said_as(messages, message).to_owned(), ..message.clone() };
    let is_had = |message: &Message| {
        let ids = [said_as(messages, message), &message.id];
        had.iter().any(|old| ids.contains(&old.id.as_str()))
    };
    let is_own = |message: &Message| message.is_hidden() && message.name.is_some();
    let said = messages.get(place).map(again).ok_or(ReplayError::NoQuestion)?;
    let missing = messages.iter().take(place).filter(|message| !is_own(message) && !is_had(message));
    let before = missing
        .map(|message| may_be_said(message).then(|| again(message)).ok_or(ReplayError::Together))
        .collect::<Result<_, _>>()?;
    Ok((before, said))
}

/// Whether a client may say it as it is, without a question that it would answer.
fn may_be_said(message: &Message) -> bool {
    let is_anybodys = match message.speaker {
        Speaker::Human => message.name.is_none(),
        Speaker::Ai | Speaker::Tool => true,
        Speaker::System => false,
    };
    is_anybodys && !message.is_hidden() && message.answers().is_none()
}

/// The same content in other words: what is no text stays.
fn reworded(content: Content, text: &str) -> Content {
    let Content::Blocks(blocks) = content else { return Content::Text(text.to_owned()) };
    let is_text = |block: &Value| block.is_string() || block.get("type").is_some_and(|kind| kind == "text");
    let rest = blocks.into_iter().filter(|block| !is_text(block));
    Content::Blocks(std::iter::once(json!({ "type": "text", "text": text })).chain(rest).collect())
}

#[cfg(test)]
mod tests {
    use pudu_domain::chat::REMINDER;

    use super::*;

    fn human(id: &str) -> Message {
        Message::new(Speaker::Human, id, id)
    }

    fn ai(id: &str) -> Message {
        Message::new(Speaker::Ai, id, id)
    }

    #[test]
    fn only_the_latest_answer_is_made_anew() {
        let talk = [human("h1"), ai("a1"), human("h2").hidden(), human("h3"), ai("a2"), ai("a3")];
        let turn = Turn { said: 3, answer: 5 };
        assert_eq!(answered(&talk, "a3").unwrap(), turn);
        for early in ["a1", "a2"] {
            assert!(matches!(answered(&talk, early), Err(ReplayError::NotLatest)), "{early}");
        }
        assert!(matches!(answered(&talk, "h3"), Err(ReplayError::OtherSpeaker)));
        assert!(matches!(answered(&talk, "none"), Err(ReplayError::NoMessage)));
        assert!(matches!(answered(&[ai("a")], "a"), Err(ReplayError::NoQuestion)));
        assert!(matches!(answered(&[human("h"), ai("a"), human("i")], "a"), Err(ReplayError::NotLatest)));
    }

    #[test]
    fn only_what_was_said_last_is_edited() {
        let talk = [human("h1"), ai("a1"), human("h2"), ai("a2"), ai("a3")];
        assert_eq!(editable(&talk, "h2").unwrap(), Turn { said: 2, answer: 4 });
        assert!(matches!(editable(&talk, "h1"), Err(ReplayError::NotLatest)));
        assert!(matches!(editable(&talk, "a2"), Err(ReplayError::OtherSpeaker)));
        assert!(matches!(editable(&[human("h").hidden()], "h"), Err(ReplayError::OtherSpeaker)));
        assert_eq!(
            editable(&[human("h")], "h").unwrap(),
            Turn { said: 0, answer: 0 },
            "its run was ended early"
        );
    }

    #[test]
    fn what_came_with_the_question_is_said_again_before_it() {
        let reminder = Message::new(Speaker::System, "h1", "today").named(REMINDER).hidden();
        let todo = Message::new(Speaker::Human, "t", "go on").named("todo_reminder").hidden();
        let talk = [reminder, human("h1").reminded(), ai("a1"), todo, human("h2"), ai("a2")];
        let all = (vec![human("h1"), ai("a1")], human("h2"));
        assert_eq!(said_again(&talk, 4, &[]).unwrap(), all, "a branch, or an input of many messages");
        assert_eq!(said_again(&talk, 4, &talk[..4]).unwrap(), (vec![], human("h2")));
        let early = [human("h1"), ai("a1")];
        assert_eq!(said_again(&talk, 4, &early).unwrap(), (vec![], human("h2")), "the reminder came later");
        assert_eq!(said_again(&talk, 4, &early[..1]).unwrap().0, [ai("a1")]);
        assert_eq!(said_again(&talk, 1, &[]).unwrap(), (vec![], human("h1")));
        let event = [human("e").hidden(), human("h")];
        assert!(matches!(said_again(&event, 1, &[]), Err(ReplayError::Together)));
    }

    #[test]
    fn what_the_user_said_is_edited_by_either_of_its_ids() {
        let reminder = Message::new(Speaker::System, "h1", "today").named(REMINDER).hidden();
        let talk = [reminder, human("h1").reminded(), ai("a1")];
        for id in ["h1", "h1__user"] {
            assert_eq!(editable(&talk, id).unwrap(), Turn { said: 1, answer: 2 }, "{id}");
        }
    }

    #[test]
    fn pictures_stay_beside_other_words() {
        let picture = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } });
        let before = Content::Blocks(vec![json!({ "type": "text", "text": "old" }), picture.clone()]);
        let after = Content::Blocks(vec![json!({ "type": "text", "text": "new" }), picture]);
        assert_eq!(reworded(before, "new"), after);
        assert_eq!(reworded(Content::from("old"), "new"), Content::from("new"));
    }
}
