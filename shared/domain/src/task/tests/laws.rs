//! Laws that hold whatever happens in whatever order: many workers, old images, clocks that jump.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    /// A worker tries the lane that the row wants.
    Claim,
    /// The worker with this number (modulo those that ever claimed) writes what it decides on its own, perhaps old, image.
    Write(usize, Box<Command>),
    /// Somebody who has just read the row, or who read it long ago, asks for the cancel.
    Ask(Option<usize>),
    /// Somebody who has just read the row answers its question.
    Answer,
    /// Time passes.
    Pass(u64),
}

fn snapshots() -> impl Strategy<Value = Snapshot> {
    prop_oneof![
        6 => prop::sample::select(&Status::ALL[..]).prop_map(said),
        2 => Just(said(Status::Working)),
        1 => "[ab]".prop_map(|question| asked(&question)),
        1 => Just(Snapshot::bare(Status::InputRequired)),
        1 => (0.001..1e6).prop_map(|secs| hinted(Status::Working, secs)),
    ]
}

fn commands() -> impl Strategy<Value = Command> {
    let (text, took) = ("[a-z]{0,300}", snapshots());
    prop_oneof![
        4 => took.prop_map(|snapshot| Command::RecordSubmit { remote: remote(), snapshot, started_at: at(0) }),
        1 => text.prop_map(|error| Command::RecordRefusal(Refusal::Refused(error))),
        1 => text.prop_map(|error| Command::RecordRefusal(Refusal::Unknown(error))),
        8 => snapshots().prop_map(Command::RecordStatus),
        4 => text.prop_map(Command::RecordPollFailure),
        1 => text.prop_map(Command::RecordPollViolation),
        4 => snapshots().prop_map(Command::RecordCancel),
        2 => text.prop_map(Command::RecordCancelFailure),
        1 => Just(Command::RecordCancelAcknowledged),
        4 => (sent(), prop::option::of(heard())).prop_map(|(sent, heard)| Command::RecordAnswer { sent, heard }),
        1 => Just(Command::Recover),
        1 => Just(Command::GiveBack),
    ]
}

fn sent() -> impl Strategy<Value = Sent> {
    prop_oneof![
        2 => Just(Sent::Taken),
        1 => "[a-z]{0,300}".prop_map(Sent::Unsure),
        1 => "[a-z]{0,300}".prop_map(Sent::Refused),
    ]
}

fn heard() -> impl Strategy<Value = Heard> {
    prop_oneof![
        4 => snapshots().prop_map(Heard::Status),
        1 => "[a-z]{0,300}".prop_map(Heard::Failure),
        1 => "[a-z]{0,300}".prop_map(Heard::Violation),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Claim),
        6 => (0..8_usize, commands()).prop_map(|(who, command)| Step::Write(who, Box::new(command))),
        1 => prop::option::of(0..8_usize).prop_map(Step::Ask),
        2 => Just(Step::Answer),
        4 => (0..200_u64).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..80)
}

/// A task under a cancel is due before the time for it is over, and its holder's write after that is its end.
fn a_cancel_never_sticks(
    before: &Task,
    after: &Task,
    change: &Change,
    now: u64,
) -> Result<(), TestCaseError> {
    let Some(cancel) = &after.cancel else { return Ok(()) };
    prop_assert!(cancel.until == cancel.requested_at + Policy::default().cancel_deadline);
    if !matches!(after.state, State::Active { .. }) {
        return Ok(());
    }
    prop_assert!(after.durable.due.is_some_and(|due| due.at <= cancel.until), "{:?}", after.durable.due);
    prop_assert!(after.answer.as_ref().is_none_or(|answer| !answer.is_waiting()), "it takes no answer");
    let worked = matches!(before.state, State::Active { .. }) && matches!(change.expect, Expect::Held { .. });
    prop_assert!(!worked || at(now) < cancel.until, "worked on past {:?}", cancel.until);
    Ok(())
}

/// What one write may do to the row, and to what it knows of the past.
fn lawful(before: &Task, after: &Task, change: &Change, now: u64) -> Result<(), TestCaseError> {
    a_cancel_never_sticks(before, after, change, now)?;
    prop_assert!(!matches!(before.state, State::Ended { .. }), "an ended task was written");
    prop_assert!(after.durable.generation >= before.durable.generation);
    prop_assert!(after.durable.wake >= before.durable.wake);
    prop_assert_eq!(after.durable.due, after.wants());
    prop_assert_eq!(after.durable.due.is_none(), matches!(after.state, State::Ended { .. }));
    // All rows of a task go together, and only when it has ended.
    let ended = matches!(after.state, State::Ended { .. });
    prop_assert_eq!(change.expires.is_some(), ended);
    prop_assert!(!ended || change.spec.is_some());
    prop_assert!(!ended || after.payload.is_none() || matches!(change.payload, PayloadWrite::Put(_)));
    let (said, now_said) = (&before.attention, &after.attention);
    prop_assert!(now_said.version == 0 || now_said.version == now_said.last);
    prop_assert_eq!(now_said.version == 0, now_said.fingerprint.is_none());
    prop_assert_eq!(now_said.last, said.last + u32::from(change.note.is_some()));
    prop_assert!(change.note.as_ref().is_none_or(|news| news.note.version == now_said.last));
    prop_assert!(
        before.cancel.is_none()
            || after.cancel.as_ref().map(|c| c.requested_at)
                == before.cancel.as_ref().map(|c| c.requested_at)
    );
    prop_assert_eq!(
        (&after.key, &after.server, after.created_at),
        (&before.key, &before.server, before.created_at)
    );
    if matches!(change.expect, Expect::Held { .. }) {
        prop_assert!(after.durable.lease.is_none(), "a commit left a lease");
    }
    // Nothing takes a lease without raising the generation, except its holder's commit.
    if before.durable.lease.is_some()
        && after.durable.lease.is_none()
        && !matches!(change.expect, Expect::Held { .. })
    {
        prop_assert!(after.durable.generation > before.durable.generation);
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_order_of_events_breaks_a_law(steps in steps()) {
        let mut rows = Rows::intended();
        let (mut now, mut images) = (1, vec![rows.task.clone()]);
        for step in steps {
            let (image, command) = match step {
                Step::Pass(secs) => {
                    now += secs;
                    continue;
                }
                Step::Claim => {
                    let lane = rows.task.durable.due.map_or(Lane::Poll, |due| due.lane);
                    let generation = rows.task.durable.generation;
                    if let Some(image) = rows.claim("w", lane, now) {
                        prop_assert_eq!(image.durable.generation, generation.next());
                        images.push(image);
                    }
                    continue;
                }
                Step::Answer => (rows.task.clone(), rows.give("2026")),
                Step::Write(who, command) => (images[who % images.len()].clone(), *command),
                Step::Ask(who) => {
                    (who.map_or(rows.task.clone(), |who| images[who % images.len()].clone()), Command::RequestCancel)
                }
            };
            let before = rows.task.clone();
            let Ok(Some(change)) = decide(&image, command.clone(), at(now), rows.context()) else { continue };
            let newest = image.durable.generation == before.durable.generation;
            if rows.write(&image, command, now) {
                prop_assert!(newest, "a write with an old generation was applied");
                lawful(&before, &rows.task, &change, now)?;
                let waits = rows.task.answer.as_ref().is_some_and(Answer::is_waiting);
                prop_assert_eq!(waits, rows.answer.is_some(), "the answer's row is there while it waits");
                prop_assert_eq!(rows.payload.digest(), rows.task.payload.clone());
            } else {
                prop_assert_eq!(&rows.task, &before);
            }
        }
        let last = usize::try_from(rows.task.attention.last).unwrap();
        prop_assert_eq!(rows.notes.len(), last, "each version has its one note");
    }

    /// Deciding is pure: the same question has the same answer.
    #[test]
    fn a_decision_depends_on_nothing_but_its_arguments(command in commands(), now in 0..1000_u64) {
        let rows = Rows::tracked();
        let mut image = rows.task.clone();
        image.durable = image.durable.claimed(lease("w", 2000));
        let decided = decide(&image, command.clone(), at(now), rows.context());
        prop_assert_eq!(decided, decide(&image, command, at(now), rows.context()));
    }
}
