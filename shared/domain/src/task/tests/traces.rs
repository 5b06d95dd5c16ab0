//! The worked traces of reference 6.12 with our differences, and its vectors 62 to 77, 88 and 89 as far as they are pure.

use super::*;
use crate::note;
use crate::text::SNIPPET_BYTES;

fn status(status: Status) -> Command {
    Command::RecordStatus(said(status))
}

fn fails() -> Command {
    Command::RecordPollFailure("connection refused".into())
}

fn versions(rows: &Rows) -> Vec<u32> {
    rows.notes.iter().map(|news| news.note.version).collect()
}

/// What becomes of note `version` if it is delivered now.
fn told(rows: &Rows, version: u32) -> note::State {
    let mut note = rows.notes.iter().find(|news| news.note.version == version).unwrap().note.clone();
    note.durable = note.durable.claimed(lease("notifier", 1000));
    let attention = rows.task.attention.version;
    note::decide(&note, note::Command::Deliver { attention }, at(900), &rows.policy).unwrap().note.state
}

/// Trace A.
#[test]
fn a_task_is_polled_to_its_end() {
    let mut rows = Rows::tracked();
    assert_eq!(rows.due(), Some((Lane::Poll, 5)));
    let image = rows.claim("w", Lane::Poll, 5).unwrap();
    assert_eq!(rows.due(), Some((Lane::Poll, 5)), "a claim leaves the index alone");
    assert_eq!(rows.task.durable.lease, Some(lease("w", 125)));
    assert!(rows.write(&image, Command::RecordStatus(hinted(Status::Working, 20.0)), 6));
    assert_eq!((rows.due(), rows.task.status()), (Some((Lane::Poll, 26)), Status::Working));
    assert_eq!(rows.task.tracking.last_polled_at, Some(at(6)));
    let image = rows.claim("w", Lane::Poll, 26).unwrap();
    assert_eq!(rows.task.durable.lease, Some(lease("w", 146)));
    assert!(rows.write(&image, status(Status::Completed), 27));
    assert_eq!((rows.due(), rows.task.status()), (None, Status::Completed));
    assert_eq!(rows.task.state, State::Ended { outcome: Outcome::Completed, at: at(27) });
    assert_eq!(versions(&rows), [1]);
    assert_eq!(rows.notes[0].note.durable, Durable::waiting(Due { lane: Lane::Notify, at: at(27) }));
    assert_eq!(rows.notes[0].event.result, Some(json!({"pages": 3})));
    assert_eq!(told(&rows, 1), note::State::Delivered { at: at(900) });
}

/// Trace B; its degraded event is withdrawn by the recovery.
#[test]
fn an_outage_is_told_once_and_withdrawn_when_it_is_over() {
    let mut rows = Rows::tracked();
    let mut nexts = Vec::new();
    for now in [6, 12, 23] {
        rows.step(Lane::Poll, fails(), now);
        nexts.push(rows.due().unwrap().1);
    }
    assert_eq!(nexts, [11, 22, 43]);
    assert_eq!((versions(&rows), rows.task.tracking.errors), (vec![1], 3));
    let event = rows.notes[0].event.clone();
    assert!(event.tracking_degraded && event.status == Status::Submitted);
    assert_eq!(event.last_poll_error.as_deref(), Some("connection refused"));
    assert_eq!(told(&rows, 1), note::State::Delivered { at: at(900) });

    rows.step(Lane::Poll, Command::RecordPollFailure("another wording".into()), 43);
    assert_eq!(versions(&rows), [1], "a new wording is no new event");
    rows.step(Lane::Poll, status(Status::Working), 83);
    assert_eq!((rows.due(), rows.task.tracking.errors), (Some((Lane::Poll, 88)), 0));
    assert_eq!(rows.task.tracking.last_error, None);
    assert_eq!((versions(&rows), told(&rows, 1)), (vec![1], note::State::Withdrawn));

    for now in [88, 93, 103] {
        rows.step(Lane::Poll, fails(), now);
    }
    assert_eq!(versions(&rows), [1, 2], "a second outage is news");
}

/// Trace C.
#[test]
fn trace_c_a_cancel_fences_the_poll_in_flight() {
    let mut rows = Rows::tracked();
    let image = rows.claim("w", Lane::Poll, 5).unwrap();
    assert!(rows.request_cancel(8));
    assert_eq!(rows.task.cancel.as_ref().map(|c| (c.requested_at, c.next_at)), Some((at(8), Some(at(8)))));
    assert_eq!((&rows.task.durable.lease, rows.task.status()), (&None, Status::Submitted));
    assert!(!rows.write(&image, status(Status::Completed), 9), "the fenced answer is dropped");
    assert_eq!(rows.due(), Some((Lane::Cancel, 8)), "before the poll that was due at 5");

    let mut failing = rows.clone();
    rows.step(Lane::Cancel, Command::RecordCancel(said(Status::Completed)), 10);
    assert_eq!(
        (rows.task.status(), versions(&rows)),
        (Status::Completed, vec![1]),
        "vector 76: its real end counts"
    );

    failing.step(Lane::Cancel, Command::RecordCancelFailure("refused".into()), 10);
    let cancel = failing.task.cancel.clone().unwrap();
    assert_eq!((cancel.attempts, cancel.next_at), (1, Some(at(15))));
    assert_eq!(cancel.last_error.as_ref().map(Snippet::as_str), Some("refused"));
    assert_eq!((&failing.task.durable.lease, failing.due()), (&None, Some((Lane::Poll, 8))));
}

/// Trace D.
#[test]
fn an_answer_after_the_lease_is_dropped_whether_or_not_somebody_took_over() {
    for taken_over in [false, true] {
        let mut rows = Rows::tracked();
        let image = rows.claim("w1", Lane::Poll, 5).unwrap();
        assert_eq!(rows.claim("w2", Lane::Poll, 125), None, "at its last instant the lease still holds");
        let other = taken_over.then(|| rows.claim("w2", Lane::Poll, 126).unwrap());
        assert!(!rows.write(&image, status(Status::Completed), 135));
        assert_eq!(rows.task.status(), Status::Submitted);
        let again = other.unwrap_or_else(|| rows.claim("w1", Lane::Poll, 135).unwrap());
        assert!(rows.write(&again, status(Status::Completed), 136));
        assert_eq!(versions(&rows), [1]);
    }
}

#[test]
fn the_holder_may_write_at_the_last_instant_of_its_lease() {
    let mut rows = Rows::tracked();
    let image = rows.claim("w", Lane::Poll, 5).unwrap();
    assert!(rows.write(&image, status(Status::Working), 125));
}

#[test]
fn vector_62_the_first_poll_counts_from_the_start_of_the_submit() {
    let mut rows = Rows::intended();
    let image = rows.task.clone();
    let snapshot = hinted(Status::Submitted, 9.0);
    assert!(rows.write(&image, Command::RecordSubmit { remote: remote(), snapshot, started_at: at(2) }, 7));
    assert_eq!((rows.due(), rows.spec.remote.clone()), (Some((Lane::Poll, 11)), Some(remote())));
}

#[test]
fn vector_68_hints_are_bounded_on_the_way_in() {
    let cases =
        [(hinted(Status::Working, 1e15), Some(6 + 86_400)), (hinted(Status::InputRequired, 7.0), Some(66))];
    for (snapshot, next) in cases.into_iter().chain([(hinted(Status::Completed, 7.0), None)]) {
        let mut rows = Rows::tracked();
        rows.step(Lane::Poll, Command::RecordStatus(snapshot), 6);
        assert_eq!(rows.next_poll(), next.map(at));
    }
}

#[test]
fn vectors_71_and_74_an_answer_against_the_protocol_ends_a_polled_task() {
    let large =
        Snapshot { input_required: Some(json!({"p": "x".repeat(65_529)})), ..said(Status::InputRequired) };
    for (snapshot, word) in [(Snapshot::bare(Status::InputRequired), "requires"), (large, "65536-byte limit")]
    {
        let mut rows = Rows::tracked();
        rows.step(Lane::Poll, Command::RecordStatus(snapshot), 6);
        assert_eq!((rows.task.status(), versions(&rows)), (Status::Failed, vec![1]));
        assert!(rows.payload.error.as_ref().is_some_and(|error| error.contains(word)));
        assert_eq!(rows.payload, Payload { error: rows.payload.error.clone(), ..Payload::default() });
    }
}

/// Reference 6.8: during a cancel the same violation is a failed attempt.
#[test]
fn an_answer_against_the_protocol_does_not_end_a_cancel() {
    let mut rows = Rows::tracked();
    assert!(rows.request_cancel(3));
    let huge = crate::snapshot::Artifact { uri: "u".repeat(70_000), mime_type: "a/b".into() };
    rows.step(
        Lane::Cancel,
        Command::RecordCancel(Snapshot { artifact: Some(huge), ..said(Status::Completed) }),
        4,
    );
    assert_eq!(rows.task.status(), Status::Submitted);
    assert!(
        rows.task.cancel.as_ref().unwrap().last_error.as_ref().unwrap().as_str().contains("result_artifact")
    );
}

/// The row keeps the preview, the hot row nothing of it.
#[test]
fn vector_73_a_large_result_is_kept_as_its_beginning() {
    let mut rows = Rows::tracked();
    let result = Some(json!("x".repeat(65_535)));
    rows.step(Lane::Poll, Command::RecordStatus(Snapshot { result, ..said(Status::Completed) }), 6);
    assert!(rows.payload.result_truncated && rows.payload.result.is_none());
    assert_eq!(rows.notes[0].event.result_preview, Some("x".repeat(2000)));
}

#[test]
fn vector_75_a_second_cancel_changes_nothing_while_the_first_is_carried_out() {
    let mut rows = Rows::tracked();
    assert!(rows.request_cancel(3));
    let image = rows.claim("w", Lane::Cancel, 3).unwrap();
    let before = rows.task.clone();
    assert!(!rows.request_cancel(4));
    assert_eq!(rows.task, before);
    assert_eq!(rows.claim("w2", Lane::Cancel, 4), None, "one remote cancel");
    assert!(rows.write(&image, Command::RecordCancel(said(Status::Cancelled)), 5));
    assert_eq!((rows.task.status(), versions(&rows)), (Status::Cancelled, vec![1]));
    assert!(!rows.request_cancel(6), "an end is an end");
}

/// The cancel backs off on its own, and the polls beside it see the real end.
#[test]
fn vector_77_a_cancel_that_keeps_failing_never_hides_the_real_end() {
    let mut rows = Rows::tracked();
    rows.policy.cancel_deadline = Duration::from_hours(1);
    assert!(rows.request_cancel(3));
    let mut pauses = Vec::new();
    let mut now = 3;
    while pauses.len() < 8 {
        let (lane, due) = rows.due().unwrap();
        now = now.max(due);
        let command = if lane == Lane::Cancel {
            Command::RecordCancelFailure("refused".into())
        } else {
            status(Status::Working)
        };
        rows.step(lane, command, now);
        if lane == Lane::Cancel {
            pauses.push(rows.task.cancel.as_ref().unwrap().next_at.unwrap().since(at(now)).as_secs());
        }
    }
    assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 300, 300]);
    let (lane, due) = rows.due().unwrap();
    assert_eq!(lane, Lane::Poll);
    rows.step(Lane::Poll, status(Status::Completed), due);
    let cancel = rows.task.cancel.clone().unwrap();
    assert_eq!((rows.task.status(), cancel.next_at, cancel.last_error), (Status::Completed, None, None));
    assert_eq!(versions(&rows), [1]);
}

/// A failed cancel says nothing new, so it does not need what the task brought back.
#[test]
fn a_failed_cancel_makes_no_event_whatever_payload_its_worker_has() {
    let mut rows = Rows::tracked();
    rows.step(Lane::Poll, status(Status::InputRequired), 6);
    assert!(rows.request_cancel(7));
    let image = rows.claim("w", Lane::Cancel, 7).unwrap();
    rows.payload = Payload::default();
    assert!(rows.write(&image, Command::RecordCancelFailure("refused".into()), 8));
    assert_eq!((versions(&rows), rows.task.attention.version), (vec![1], 1));
}

#[test]
fn vectors_88_and_89_a_question_is_withdrawn_by_progress_and_news_when_asked_again() {
    let mut rows = Rows::tracked();
    rows.step(Lane::Poll, status(Status::InputRequired), 6);
    rows.step(Lane::Poll, status(Status::InputRequired), 66);
    assert_eq!(versions(&rows), [1], "the same question is one event");
    rows.step(Lane::Poll, status(Status::Working), 126);
    assert_eq!((rows.task.attention.version, told(&rows, 1)), (0, note::State::Withdrawn));
    assert_eq!(rows.payload, Payload::default());
    rows.step(Lane::Poll, status(Status::InputRequired), 131);
    assert_eq!(versions(&rows), [1, 2]);
    rows.step(Lane::Poll, Command::RecordStatus(asked("which month?")), 191);
    assert_eq!(versions(&rows), [1, 2, 3], "another question is another event");
    assert_eq!([1, 2].map(|v| told(&rows, v)), [const { note::State::Superseded }; 2]);
}

/// Vector 82 as far as it is pure: what was frozen stays, the end is the next version.
#[test]
fn a_newer_event_never_touches_an_older_one() {
    let mut rows = Rows::tracked();
    rows.step(Lane::Poll, status(Status::InputRequired), 6);
    let frozen = rows.notes[0].clone();
    rows.step(Lane::Poll, status(Status::Completed), 66);
    assert_eq!((versions(&rows), &rows.notes[0]), (vec![1, 2], &frozen));
}

#[test]
fn a_task_degraded_while_it_asks_says_both() {
    let mut rows = Rows::tracked();
    rows.step(Lane::Poll, status(Status::InputRequired), 6);
    for now in [66, 71, 81] {
        rows.step(Lane::Poll, fails(), now);
    }
    let event = &rows.notes[1].event;
    assert!(event.tracking_degraded && event.input_required.is_some());
    assert_eq!((event.status, rows.task.payload.is_some()), (Status::InputRequired, true));
}

#[test]
fn an_intent_may_be_recovered_only_after_its_submitters_last_instant() {
    let mut rows = Rows::intended();
    let submitter = rows.task.clone();
    assert_eq!(rows.claim("r", Lane::Intent, 60), None);
    rows.step(Lane::Intent, Command::Recover, 61);
    assert_eq!((rows.task.status(), versions(&rows)), (Status::Failed, vec![1]));
    assert!(rows.payload.error.as_ref().unwrap().contains("submission outcome unknown"));
    let late =
        Command::RecordSubmit { remote: remote(), snapshot: said(Status::Submitted), started_at: at(0) };
    assert!(!rows.write(&submitter, late, 62), "the late submitter has lost");
}

/// DESIGN "Cancel": recorded without fencing; the submitter sees it, decides again, and lands in the cancel lane.
#[test]
fn a_cancel_of_an_intent_only_wakes_its_submitter() {
    let mut rows = Rows::intended();
    let submitter = rows.task.clone();
    assert!(rows.request_cancel(3));
    let took = Command::RecordSubmit { remote: remote(), snapshot: said(Status::Working), started_at: at(0) };
    assert!(!rows.write(&submitter, took.clone(), 20), "it decides on an old image");
    let verdict = submitter.durable.held().judge(Some(&rows.task.durable), false, at(20));
    assert_eq!(verdict, crate::Verdict::Woken);
    let fresh = rows.task.clone();
    assert!(rows.write(&fresh, took, 20));
    assert_eq!(rows.due(), Some((Lane::Cancel, 20)), "also when the submit took longer than a poll's pause");
}

#[test]
fn errors_are_cut_for_the_hot_row_and_kept_in_the_payload() {
    let mut rows = Rows::tracked();
    let error = Some("é".repeat(5000));
    rows.step(Lane::Poll, Command::RecordStatus(Snapshot { error, ..said(Status::Failed) }), 6);
    assert_eq!(rows.task.error.as_ref().unwrap().as_str().len(), SNIPPET_BYTES);
    assert_eq!(rows.payload.error.as_ref().unwrap().chars().count(), 4000);
}
