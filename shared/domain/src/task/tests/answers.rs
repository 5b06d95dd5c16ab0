//! One question and its answer, from giving it to what the server makes of it.

use super::*;
use crate::durable::Generation;

/// A task that asks `which year?` since 6, as event 1.
fn asking() -> Rows {
    let mut rows = Rows::tracked();
    rows.step(Lane::Poll, Command::RecordStatus(said(Status::InputRequired)), 6);
    assert_eq!((rows.due(), versions(&rows)), (Some((Lane::Poll, 66)), vec![1]));
    rows
}

/// The same, answered at 10.
fn answered() -> Rows {
    let mut rows = asking();
    let (image, give) = (rows.task.clone(), rows.give("2026"));
    assert!(rows.write(&image, give, 10));
    rows
}

fn versions(rows: &Rows) -> Vec<u32> {
    rows.notes.iter().map(|note| note.note.version).collect()
}

/// It was sent, and then polled.
fn sent(sent: Sent, snapshot: Snapshot) -> Command {
    Command::RecordAnswer { sent, heard: Some(Heard::Status(snapshot)) }
}

fn stand(rows: &Rows) -> Option<Stand> {
    rows.task.answer.as_ref().map(|answer| answer.stand.clone())
}

fn refused(rows: &Rows, command: Command, now: u64) -> Rejected {
    decide(&rows.task, command, at(now), rows.context()).unwrap_err()
}

#[test]
fn an_answer_makes_the_poll_due_at_once_and_the_poll_in_flight_worthless() {
    let mut rows = asking();
    let image = rows.claim("w", Lane::Poll, 66).unwrap();
    let (read, give) = (rows.task.clone(), rows.give("2026"));
    assert!(rows.write(&read, give, 67));
    assert_eq!(rows.due(), Some((Lane::Poll, 67)));
    assert_eq!(rows.answer, Some(json!("2026")));
    assert!(!rows.write(&image, Command::RecordStatus(said(Status::InputRequired)), 68));
    let image = rows.claim("w", Lane::Poll, 68).unwrap();
    assert!(image.answer.as_ref().unwrap().is_fresh(image.durable.generation));
    assert!(rows.write(&image, sent(Sent::Taken, said(Status::Working)), 69));
    assert_eq!((rows.task.status(), rows.due()), (Status::Working, Some((Lane::Poll, 74))));
    assert_eq!(
        (stand(&rows), rows.answer.clone()),
        (None, None),
        "the question is gone, and so is its answer"
    );
}

#[test]
fn a_question_is_answered_once() {
    let mut rows = answered();
    assert_eq!(refused(&rows, rows.give("2027"), 11), Rejected::Answered);
    let heard = said(Status::InputRequired);
    rows.step(Lane::Poll, sent(Sent::Taken, heard), 12);
    assert_eq!(stand(&rows), Some(Stand::Taken { at: at(12) }));
    assert_eq!(refused(&rows, rows.give("2027"), 13), Rejected::Answered);
}

/// Two who answer at once both decide on the row without an answer: one of their writes applies.
#[test]
fn of_two_answers_at_once_one_stands() {
    let mut rows = asking();
    let (image, first, second) = (rows.task.clone(), rows.give("2026"), rows.give("2027"));
    assert!(rows.write(&image, first, 10));
    assert!(!rows.write(&image, second, 10));
    assert_eq!(rows.answer, Some(json!("2026")));
}

#[test]
fn an_answered_question_needs_nobodys_attention() {
    let mut rows = answered();
    assert_eq!(rows.task.attention, Attention { last: 1, ..Attention::default() });
    rows.step(Lane::Poll, sent(Sent::Taken, said(Status::InputRequired)), 12);
    assert_eq!((rows.task.attention.version, versions(&rows)), (0, vec![1]));
    assert_eq!(rows.due(), Some((Lane::Poll, 17)), "it goes on any moment: not the pause of a question");
    rows.step(Lane::Poll, Command::RecordStatus(asked("which month?")), 17);
    assert_eq!((stand(&rows), versions(&rows)), (None, vec![1, 2]), "another question is news");
}

#[test]
fn a_question_that_stands_a_whole_pause_after_its_answer_is_asked_anew() {
    let mut rows = answered();
    rows.step(Lane::Poll, sent(Sent::Taken, said(Status::InputRequired)), 12);
    for now in [17, 22, 71] {
        rows.step(Lane::Poll, Command::RecordStatus(said(Status::InputRequired)), now);
        assert_eq!((stand(&rows).is_some(), versions(&rows)), (true, vec![1]), "at {now}");
    }
    rows.step(Lane::Poll, Command::RecordStatus(said(Status::InputRequired)), 76);
    assert_eq!((stand(&rows), versions(&rows), rows.task.attention.version), (None, vec![1, 2], 2));
    let (image, give) = (rows.task.clone(), rows.give("2027"));
    assert!(rows.write(&image, give, 80));
}

/// A day's hint after an answer does not hide that the question still stands.
#[test]
fn a_taken_answer_is_looked_after_whatever_the_server_hints() {
    let mut rows = answered();
    let slow = Snapshot { poll_after: Some(Duration::from_hours(24)), ..said(Status::InputRequired) };
    rows.step(Lane::Poll, sent(Sent::Taken, slow), 12);
    assert_eq!(rows.due(), Some((Lane::Poll, 72)));
}

#[test]
fn a_refused_answer_leaves_the_question_open_and_tells_its_thread() {
    let mut rows = answered();
    rows.step(Lane::Poll, sent(Sent::Refused("no such year".into()), said(Status::InputRequired)), 12);
    assert_eq!(stand(&rows), Some(Stand::Refused(Snippet::of("no such year"))));
    assert_eq!((versions(&rows), rows.task.attention.version, rows.answer.clone()), (vec![1, 2], 2, None));
    rows.step(Lane::Poll, Command::RecordStatus(said(Status::InputRequired)), 72);
    assert_eq!(versions(&rows), [1, 2], "once");
    let (image, give) = (rows.task.clone(), rows.give("2027"));
    assert!(rows.write(&image, give, 80), "it may be answered anew");
    assert_eq!(rows.answer, Some(json!("2027")));
}

#[test]
fn an_answer_of_unknown_outcome_waits_and_is_not_fresh_any_more() {
    let mut rows = answered();
    let mut pauses = Vec::new();
    for _ in 0..4 {
        let now = rows.due().unwrap().1;
        let unsure = sent(Sent::Unsure("timed out".into()), said(Status::InputRequired));
        rows.step(Lane::Poll, unsure, now);
        pauses.push(rows.due().unwrap().1 - now);
        assert!(rows.task.answer.as_ref().unwrap().is_waiting() && rows.answer.is_some());
    }
    assert_eq!(pauses, [5, 10, 20, 40]);
    let image = rows.claim("w", Lane::Poll, 900).unwrap();
    assert!(!image.answer.as_ref().unwrap().is_fresh(image.durable.generation));
    assert!(rows.write(&image, Command::RecordStatus(said(Status::Working)), 901));
    assert_eq!((stand(&rows), rows.answer.clone()), (None, None), "it had been taken");
}

/// A worker that died after it sent the answer leaves nothing but a claim behind.
#[test]
fn an_answer_is_not_fresh_after_a_claim_that_came_to_nothing() {
    let mut rows = answered();
    assert_eq!(rows.task.answer.as_ref().unwrap().given_in, Generation::new(3));
    let dead = rows.claim("w1", Lane::Poll, 11).unwrap();
    assert!(dead.answer.as_ref().unwrap().is_fresh(dead.durable.generation));
    let next = rows.claim("w2", Lane::Poll, 132).unwrap();
    assert!(!next.answer.as_ref().unwrap().is_fresh(next.durable.generation));
}

#[test]
fn an_answer_fits_the_question_that_its_author_read() {
    let rows = asking();
    let given = |question: &str, version| {
        let question = question_digest(&json!({"prompt": question}));
        Command::GiveAnswer(Given { question, version, input: json!(1) })
    };
    let other = Rejected::OtherQuestion { current: 1 };
    assert_eq!(refused(&rows, given("which month?", None), 10), other);
    assert_eq!(refused(&rows, given("which year?", Some(2)), 10), other);
    assert!(decide(&rows.task, given("which year?", Some(1)), at(10), rows.context()).is_ok());
}

#[test]
fn a_cancel_drops_an_answer_that_was_not_sent_and_takes_no_other() {
    let mut rows = answered();
    assert!(rows.request_cancel(11));
    assert_eq!((stand(&rows), rows.answer.clone(), rows.due()), (None, None, Some((Lane::Cancel, 11))));
    assert_eq!(refused(&rows, rows.give("2027"), 12), Rejected::Cancelling);
}

#[test]
fn the_end_of_a_task_takes_its_answer_with_it() {
    let mut rows = answered();
    rows.step(Lane::Poll, sent(Sent::Taken, said(Status::Completed)), 12);
    assert_eq!((rows.task.status(), stand(&rows), rows.answer.clone()), (Status::Completed, None, None));
    assert_eq!(refused(&rows, rows.give("2027"), 13), Rejected::Ended);
}
