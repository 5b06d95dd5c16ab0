use pudu_domain::snapshot::Artifact;
use serde_json::json;

use super::*;
use crate::ordinary::tests::{arbitrary_results, structured};

fn map(result: &Value) -> Result<Snapshot, DriverError> {
    read("get_status", result, "r1", &Redactor::default())
}

fn fields(fields: Value) -> Result<Snapshot, DriverError> {
    map(&structured(fields))
}

#[test]
fn each_status_has_its_own() {
    for (word, status) in [
        ("running", Status::Working),
        ("completed", Status::Completed),
        ("failed", Status::Failed),
        ("cancelled", Status::Cancelled),
    ] {
        assert_eq!(fields(json!({"task_id": "r1", "status": word})), Ok(Snapshot::bare(status)));
    }
    let asking = fields(json!({"task_id": "r1", "status": "input_required", "input_required": {}})).unwrap();
    assert_eq!((asking.status, asking.input_required), (Status::InputRequired, Some(json!({}))));
}

#[test]
fn every_field_is_taken_over() {
    let snapshot = fields(json!({
        "task_id": "r1", "status": "completed", "result": [1, {"a": null}], "error": "e", "error_code": "other",
        "result_artifact": {"uri": "u", "mime_type": "m", "extra": 1}, "input_required": {"q": 1},
        "poll_after_seconds": 2.5, "unknown": {},
    }));
    assert_eq!(
        snapshot,
        Ok(Snapshot {
            status: Status::Completed,
            result: Some(json!([1, {"a": null}])),
            artifact: Some(Artifact { uri: "u".into(), mime_type: "m".into() }),
            error: Some("e".into()),
            input_required: Some(json!({"q": 1})),
            poll_after: Some(Duration::from_millis(2500)),
        })
    );
}

#[test]
fn null_counts_as_missing() {
    let nulls = json!({"task_id": "r1", "status": "running", "result": null, "result_artifact": null, "error": null,
                       "error_code": null, "input_required": null, "poll_after_seconds": null});
    assert_eq!(fields(nulls), Ok(Snapshot::bare(Status::Working)));
}

/// Reference 6.10 row by row, with vectors 69 (hints; strict on strings) and 71.
#[test]
fn what_breaks_the_rules_is_a_violation_that_names_the_field() {
    let long = "r".repeat(256);
    for (change, fragment) in [
        (json!({"task_id": null}), "task_id"),
        (json!({"task_id": ""}), "task_id"),
        (json!({"task_id": 1}), "task_id"),
        (json!({"task_id": long}), "task_id"),
        (json!({"task_id": "R1"}), "task_id does not match"),
        (json!({"task_id": "r1 "}), "task_id does not match"),
        (json!({"status": null}), "status"),
        (json!({"status": "paused"}), "status"),
        (json!({"status": "Completed"}), "status"),
        (json!({"status": 1}), "status"),
        (json!({"result_artifact": "u"}), "result_artifact"),
        (json!({"result_artifact": {"uri": "", "mime_type": "m"}}), "result_artifact"),
        (json!({"result_artifact": {"uri": "u"}}), "result_artifact"),
        (json!({"error": 7}), "error"),
        (json!({"error_code": 7}), "error_code"),
        (json!({"input_required": "name?"}), "input_required"),
        (json!({"status": "input_required"}), "input_required"),
        (json!({"poll_after_seconds": 0}), "poll_after_seconds"),
        (json!({"poll_after_seconds": -1}), "poll_after_seconds"),
        (json!({"poll_after_seconds": "7"}), "poll_after_seconds"),
        (json!({"poll_after_seconds": true}), "poll_after_seconds"),
        (json!({"poll_after_seconds": "NaN"}), "poll_after_seconds"),
    ] {
        let mut answer = json!({"task_id": "r1", "status": "running"});
        for (key, value) in change.as_object().unwrap() {
            answer[key] = value.clone();
        }
        let outcome = fields(answer.clone());
        let Err(DriverError::Violation(message)) = outcome else { panic!("{answer}: {outcome:?}") };
        assert!(message.contains(fragment) && message.contains("get_status"), "{message}");
    }
}

/// NaN and infinity of vector 69 cannot stand in JSON: what cannot be read never becomes a hint.
#[test]
fn a_number_too_large_for_json_is_no_answer() {
    assert!(serde_json::from_str::<Value>("{\"poll_after_seconds\": NaN}").is_err());
    assert!(serde_json::from_str::<Value>("{\"poll_after_seconds\": 1e999}").is_err());
}

#[test]
fn structured_content_is_demanded_and_text_is_not_parsed() {
    let text = json!({"content": [{"type": "text", "text": "{\"task_id\":\"r1\",\"status\":\"running\"}"}]});
    for result in [text, json!({}), json!({"structuredContent": null}), json!({"structuredContent": "x"})] {
        let outcome = map(&result);
        assert!(
            matches!(&outcome, Err(DriverError::Violation(message)) if message.contains("structuredContent")),
            "{result}: {outcome:?}"
        );
    }
}

/// Vector 70: on any status, after the fields and the handle, before the question.
#[test]
fn a_task_that_is_not_found_has_failed() {
    for (answer, error) in [
        (
            json!({"task_id": "r1", "status": "running", "error_code": "task_not_found", "error": "expired"}),
            "expired",
        ),
        (
            json!({"task_id": "r1", "status": "completed", "error_code": "task_not_found", "result": 1}),
            NOT_FOUND,
        ),
        (json!({"task_id": "r1", "status": "input_required", "error_code": "task_not_found"}), NOT_FOUND),
        (
            json!({"task_id": "r1", "status": "running", "error_code": "task_not_found", "error": ""}),
            NOT_FOUND,
        ),
    ] {
        let expected = Snapshot { error: Some(error.to_owned()), ..Snapshot::bare(Status::Failed) };
        assert_eq!(fields(answer), Ok(expected));
    }
    for wrong in [
        json!({"task_id": "other", "status": "running", "error_code": "task_not_found"}),
        json!({"task_id": "r1", "status": "running", "error_code": "task_not_found", "poll_after_seconds": 0}),
    ] {
        assert!(matches!(fields(wrong), Err(DriverError::Violation(_))));
    }
}

#[test]
fn an_error_result_is_retried_with_its_first_text_cut() {
    let long = "ä".repeat(600);
    let blocks = json!([{"type": "image", "text": "no"}, {"type": "text", "text": " \n"},
                        {"type": "text", "text": format!("  {long}  ")}, {"type": "text", "text": "later"}]);
    let outcome = map(&json!({"isError": true, "content": blocks}));
    let expected = format!("MCP tool 'get_status' returned an error: {}", "ä".repeat(500));
    assert_eq!(outcome, Err(DriverError::Retry(expected)));
    let silent =
        map(&json!({"isError": true, "structuredContent": {"task_id": "r1", "status": "completed"}}));
    assert!(matches!(silent, Err(DriverError::Retry(_))));
}

proptest::proptest! {
    #[test]
    fn any_json_is_an_answer_or_an_error(result in arbitrary_results()) {
        if let Ok(snapshot) = map(&result) {
            proptest::prop_assert_eq!(&result["structuredContent"]["task_id"], "r1");
            let asks = snapshot.status == Status::InputRequired;
            proptest::prop_assert!(!asks || snapshot.input_required.is_some());
        }
    }
}
