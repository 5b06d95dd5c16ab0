//! The time for a cancel: what ends a task that its server does not let go.

use super::*;

/// Asked at 3, so the server has until 603.
const UNTIL: u64 = 603;

fn cancelled() -> Rows {
    let mut rows = Rows::tracked();
    assert!(rows.request_cancel(3));
    assert_eq!(rows.task.cancel.as_ref().map(|cancel| cancel.until), Some(at(UNTIL)));
    rows
}

fn far_away() -> Snapshot {
    hinted(Status::Working, 86_400.0)
}

fn unconfirmed(rows: &Rows) {
    assert_eq!((rows.task.status(), rows.due()), (Status::Cancelled, None));
    let error = rows.payload.error.clone().unwrap();
    assert!(error.contains("did not confirm") && error.contains("600 s"), "{error}");
    assert_eq!(rows.notes.last().unwrap().event.error, Some(error), "its thread is told the same");
}

#[test]
fn an_acknowledged_cancel_is_not_repeated_and_its_end_is_polled() {
    let mut rows = cancelled();
    rows.step(Lane::Cancel, Command::RecordCancelAcknowledged, 4);
    let cancel = rows.task.cancel.clone().unwrap();
    assert_eq!((cancel.attempts, cancel.next_at, cancel.last_error), (1, None, None));
    assert_eq!(rows.due(), Some((Lane::Poll, 5)));
    rows.step(Lane::Poll, Command::RecordStatus(said(Status::Working)), 5);
    assert_eq!(rows.due(), Some((Lane::Poll, 10)));
    rows.step(Lane::Poll, Command::RecordStatus(said(Status::Cancelled)), 10);
    assert_eq!((rows.task.status(), rows.payload.error.clone()), (Status::Cancelled, None));
}

/// Also when the server had asked for a day's pause before.
#[test]
fn an_acknowledged_cancel_is_polled_soon_whatever_was_hinted() {
    let mut rows = Rows::tracked();
    rows.step(Lane::Poll, Command::RecordStatus(far_away()), 5);
    assert!(rows.request_cancel(7));
    rows.step(Lane::Cancel, Command::RecordCancelAcknowledged, 8);
    assert_eq!(rows.due(), Some((Lane::Poll, 13)));
}

/// The lane that serves it at the end is the cancel's, because the poll is a day away.
#[test]
fn a_task_is_due_when_the_time_for_its_cancel_is_over_whatever_the_server_hints() {
    let mut rows = cancelled();
    rows.step(Lane::Cancel, Command::RecordCancelAcknowledged, 4);
    rows.step(Lane::Poll, Command::RecordStatus(far_away()), 5);
    assert_eq!(rows.due(), Some((Lane::Cancel, UNTIL)));
    assert_eq!(rows.claim("w", Lane::Cancel, UNTIL - 1), None);
    rows.step(Lane::Cancel, Command::RecordStatus(far_away()), UNTIL);
    unconfirmed(&rows);
}

#[test]
fn whatever_is_no_end_ends_the_task_once_the_time_for_its_cancel_is_over() {
    let brought = [
        Command::RecordStatus(said(Status::Working)),
        Command::RecordStatus(said(Status::InputRequired)),
        Command::RecordPollFailure("refused".into()),
        Command::RecordCancel(said(Status::Working)),
        Command::RecordCancelFailure("refused".into()),
        Command::RecordCancelAcknowledged,
        Command::GiveBack,
    ];
    for command in brought {
        let mut rows = cancelled();
        let (lane, name) = (rows.due().unwrap().0, command.name());
        rows.step(lane, command, UNTIL);
        unconfirmed(&rows);
        let cancel = rows.task.cancel.clone().unwrap();
        let failed = ["record_cancel", "record_cancel_failure"].contains(&name);
        assert_eq!(cancel.last_error.is_some(), failed, "{name}: why it did not end it is kept");
    }
}

#[test]
fn vector_76_an_end_that_the_server_names_counts_also_after_that_time() {
    for (command, status) in [
        (Command::RecordStatus(said(Status::Completed)), Status::Completed),
        (Command::RecordCancel(said(Status::Failed)), Status::Failed),
        (Command::RecordPollViolation("nonsense".into()), Status::Failed),
    ] {
        let mut rows = cancelled();
        rows.step(Lane::Cancel, command, UNTIL + 100);
        assert_eq!(rows.task.status(), status);
        assert!(!rows.payload.error.clone().unwrap_or_default().contains("did not confirm"));
    }
}

/// A submit that took longer than the time for the cancel of its intent: the server is asked once all the same.
#[test]
fn a_late_handle_is_cancelled_once_before_the_task_ends() {
    let mut rows = Rows::intended();
    rows.policy.cancel_deadline = Duration::from_secs(10);
    assert!(rows.request_cancel(3));
    let image = rows.task.clone();
    let took = Command::RecordSubmit { remote: remote(), snapshot: said(Status::Working), started_at: at(0) };
    assert!(rows.write(&image, took, 50));
    assert_eq!((rows.task.status(), rows.due()), (Status::Working, Some((Lane::Cancel, 13))));
    let image = rows.claim("w", Lane::Cancel, 51).unwrap();
    assert_eq!(image.cancel.as_ref().unwrap().next_at, Some(at(50)), "it is to be asked, not only polled");
    assert!(rows.write(&image, Command::RecordCancel(said(Status::Cancelled)), 52));
    assert_eq!((rows.task.status(), rows.payload.error.clone()), (Status::Cancelled, None));
}
