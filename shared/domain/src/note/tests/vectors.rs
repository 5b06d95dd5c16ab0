//! Vectors 82, 87, 88 and 89: a task and its notifications together, through both decision points.

use serde_json::json;

use super::*;
use crate::ids::{RemoteTaskId, ServerName, TaskName};
use crate::payload::Payload;
use crate::snapshot::Snapshot;
use crate::task::{self, Context, Intent, TaskSpec, intend};

/// A task, its notifications, and the events that they tell.
struct Story {
    task: Task,
    spec: TaskSpec,
    news: Vec<Announced>,
}

impl Story {
    /// A task that is tracked; its events are told in this way.
    fn told_by(delivery: Delivery) -> Self {
        let intent = Intent {
            key: key(),
            name: TaskName::parse("report").unwrap(),
            server: ServerName::parse("example").unwrap(),
            identity: "http://127.0.0.1:8081".into(),
            driver: "ordinary-tools".into(),
            driver_data: json!({}),
            delivery,
            repeatable: None,
        };
        let born = intend(intent, Lease { owner: Owner::stored("s".into()), until: at(60) }, at(0));
        let mut story = Self { task: born.task, spec: born.spec.unwrap(), news: Vec::new() };
        let (remote, snapshot) = (RemoteTaskId::parse("r").unwrap(), Snapshot::bare(Status::Submitted));
        story.apply(task::Command::RecordSubmit { remote, snapshot, started_at: at(0) }, 0);
        story
    }

    fn apply(&mut self, command: task::Command, now: u64) {
        let context = Context { spec: &self.spec, payload: &Payload::default(), policy: &Policy::default() };
        let change = task::decide(&self.task, command, at(now), context).unwrap().unwrap();
        self.task = change.task;
        self.spec = change.spec.unwrap_or_else(|| self.spec.clone());
        self.news.extend(change.note);
    }

    /// A poll at `now` that brings `snapshot`.
    fn poll(&mut self, snapshot: Snapshot, now: u64) {
        let lease = Lease { owner: Owner::stored("p".into()), until: at(now + 120) };
        self.task.durable = self.task.durable.claimed(lease);
        self.apply(task::Command::RecordStatus(snapshot), now);
    }

    /// The newest notification.
    fn newest(&self) -> Note {
        self.news.last().unwrap().note.clone()
    }

    /// What becomes of a note that is claimed at `now`.
    fn deliver(&self, note: &Note, now: u64) -> Note {
        step(note, Command::Deliver { attention: self.task.attention.version }, now)
    }
}

fn asks(question: &str) -> Snapshot {
    Snapshot { input_required: Some(json!(question)), ..Snapshot::bare(Status::InputRequired) }
}

fn completed() -> Snapshot {
    Snapshot { result: Some(json!(7)), ..Snapshot::bare(Status::Completed) }
}

#[test]
fn vector_82_what_is_being_told_is_told_to_its_end_and_then_what_came_after() {
    let mut story = Story::told_by(Delivery::Run);
    story.poll(asks("which year?"), 10);
    let frozen = story.news[0].clone();
    let first = step(&story.newest(), Command::RecordLaunch(run("r1")), 11);
    story.poll(completed(), 12);
    assert_eq!(story.news[0], frozen, "the event and its note are as they were");
    assert_eq!(frozen.event.input_required, Some(json!("which year?")));

    let second = story.newest();
    assert_eq!((second.version, second.status), (2, Status::Completed));
    let second = step(&second, Command::RecordBusy, 12);
    let first = step(&first, Command::RecordRunSuccess, 16);
    assert_eq!(first.state, State::Delivered { at: at(16) });
    assert_eq!(second.stale(story.task.attention.version), None);
    let second = step(&second, Command::RecordLaunch(run("r2")), 17);
    assert_eq!(step(&second, Command::RecordRunSuccess, 22).state, State::Delivered { at: at(22) });
}

/// The run of the first failed meanwhile: nobody wants to hear it any more.
#[test]
fn vector_82_what_could_not_be_told_is_superseded_by_what_came_after() {
    let mut story = Story::told_by(Delivery::Run);
    story.poll(asks("which year?"), 10);
    let first = step(&story.newest(), Command::RecordLaunch(run("r1")), 11);
    story.poll(completed(), 12);
    let first = step(&first, Command::RecordRunFailure("no".into()), 16);
    assert_eq!(story.deliver(&first, 21).state, State::Superseded);
}

#[test]
fn vector_87_the_death_of_an_old_letter_is_nothing_to_a_newer_one() {
    for delivery in [Delivery::Event, Delivery::Run] {
        let mut story = Story::told_by(delivery);
        story.poll(asks("which year?"), 10);
        let old = Note { attempts: 4, ..story.newest() };
        story.poll(completed(), 12);
        let newer = story.newest();
        let old = step(&old, Command::RecordFailure("no".into()), 13);
        assert_eq!(old.state, State::Dead);
        assert_eq!(
            (newer.state.clone(), newer.attempts, due(&newer)),
            (State::Pending, 0, Some((Lane::Notify, 12)))
        );
        // Replayed, the old letter is no news any more.
        let again = decided(&old, Command::Replay, 100).note;
        assert_eq!(story.deliver(&again, 100).state, State::Superseded);
    }
}

#[test]
fn vector_88_a_question_that_is_gone_before_it_was_told_is_not_told() {
    for delivery in [Delivery::Event, Delivery::Run] {
        let mut story = Story::told_by(delivery);
        story.poll(asks("which year?"), 10);
        let note = story.newest();
        story.poll(Snapshot::bare(Status::Working), 70);
        assert_eq!((story.news.len(), story.task.attention.version), (1, 0));
        assert_eq!(story.deliver(&note, 71).state, State::Withdrawn);
    }
}

#[test]
fn vector_89_the_same_question_asked_again_is_told_again() {
    let mut story = Story::told_by(Delivery::Event);
    for (number, now) in [(1, 10), (2, 200)] {
        story.poll(asks("which year?"), now);
        let note = story.newest();
        assert_eq!((note.version, story.news.len()), (number, number as usize));
        assert_eq!(story.deliver(&note, now).state, State::Delivered { at: at(now) });
        story.poll(asks("which year?"), now + 60);
        assert_eq!(story.news.len(), number as usize, "it stands, and is not told again");
        story.poll(Snapshot::bare(Status::Working), now + 120);
    }
}

#[test]
fn news_carry_the_word_of_their_moment_and_keep_their_event_longer_than_anybody_needs_it() {
    let mut story = Story::told_by(Delivery::Run);
    story.poll(completed(), 10);
    let news = &story.news[0];
    assert_eq!((news.note.status, news.note.delivery), (Status::Completed, Delivery::Run));
    assert_eq!(news.event.result, Some(json!(7)));
    let delivered = step(&news.note, Command::RecordLaunch(run("r")), 11);
    let change = decided(&held(&delivered), Command::RecordRunSuccess, 16);
    assert!(change.expires.unwrap() < news.kept_until);
}
