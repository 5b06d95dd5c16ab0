use pudu_domain::snapshot::Artifact;
use serde_json::json;

use super::*;
use crate::ordinary::tests::{arbitrary_results, structured};

fn map(result: &Value) -> Result<Snapshot, DriverError> {
    read("cancel_report", result, "r1", &Redactor::default())
}

#[test]
fn each_end_is_taken_over_with_what_comes_with_it() {
    for (word, status) in
        [("cancelled", Status::Cancelled), ("completed", Status::Completed), ("failed", Status::Failed)]
    {
        let answer = json!({"task_id": "r1", "status": word, "result": 1, "error": "e", "error_code": 5,
                            "result_artifact": {"uri": "u", "mime_type": "m"}, "poll_after_seconds": "x"});
        let expected = Snapshot {
            result: Some(json!(1)),
            artifact: Some(Artifact { uri: "u".into(), mime_type: "m".into() }),
            error: Some("e".into()),
            ..Snapshot::bare(status)
        };
        assert_eq!(map(&structured(answer)), Ok(expected));
    }
}

#[test]
fn anything_but_an_end_is_a_violation() {
    for (answer, fragment) in [
        (json!({"task_id": "r1", "status": "running"}), "status"),
        (json!({"task_id": "r1", "status": "input_required"}), "status"),
        (json!({"task_id": "r1", "error_code": "task_not_found"}), "status"),
        (json!({"task_id": "r2", "status": "cancelled"}), "task_id does not match"),
        (json!({"status": "cancelled"}), "task_id"),
        (json!({"task_id": "r1", "status": "cancelled", "error": 1}), "error"),
        (json!({"task_id": "r1", "status": "cancelled", "result_artifact": {}}), "result_artifact"),
    ] {
        let outcome = map(&structured(answer.clone()));
        let Err(DriverError::Violation(message)) = outcome else { panic!("{answer}: {outcome:?}") };
        assert!(message.contains(fragment), "{message}");
    }
    assert!(matches!(map(&json!({"content": []})), Err(DriverError::Violation(_))));
}

#[test]
fn an_error_result_is_retried() {
    let outcome = map(&json!({"isError": true, "content": [{"type": "text", "text": "busy"}]}));
    let message = "MCP tool 'cancel_report' returned an error: busy".to_owned();
    assert_eq!(outcome, Err(DriverError::Retry(message)));
}

#[test]
fn a_handle_too_long_to_track_can_be_undone() {
    let handle = "r".repeat(300);
    let answer = structured(json!({"task_id": handle, "status": "cancelled"}));
    let outcome = read("cancel_report", &answer, &handle, &Redactor::default());
    assert_eq!(outcome, Ok(Snapshot::bare(Status::Cancelled)));
}

proptest::proptest! {
    #[test]
    fn any_json_is_an_end_or_an_error(result in arbitrary_results()) {
        if let Ok(snapshot) = map(&result) {
            proptest::prop_assert!(snapshot.status.is_terminal());
        }
    }
}
