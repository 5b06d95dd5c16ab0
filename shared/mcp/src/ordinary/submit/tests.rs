use serde_json::json;

use super::*;
use crate::ordinary::tests::{arbitrary_results, structured};

fn map(result: &Value) -> Result<Submission, SubmitError> {
    read("submit_report", result, &Redactor::default())
}

fn violation(handle: &str) -> impl Fn(&SubmitError) -> bool {
    let expected = handle.to_owned();
    move |error| matches!(error, SubmitError::Violation { handle, .. } if handle.as_ref() == Some(&expected))
}

#[test]
fn a_running_task_is_submitted_and_nothing_else_is_taken() {
    let extra = json!({"task_id": "r1", "status": "running", "poll_after_seconds": 9, "error": 7, "x": []});
    let submission = map(&structured(extra)).unwrap();
    assert_eq!(submission.remote.as_str(), "r1");
    assert_eq!(submission.snapshot, Snapshot::bare(Status::Submitted));
}

#[test]
fn an_answer_with_a_handle_but_against_the_rules_can_be_undone() {
    let long = "r".repeat(256);
    for (fields, handle, fragment) in [
        (json!({"task_id": "r1"}), "r1", "status"),
        (json!({"task_id": "r1", "status": "completed"}), "r1", "status"),
        (json!({"task_id": "r1", "status": "Running"}), "r1", "status"),
        (json!({"task_id": "r1", "status": true}), "r1", "status"),
        (json!({"task_id": long, "status": "running"}), long.as_str(), "255"),
        (json!({"task_id": "  ", "status": "running"}), "  ", "remote_task_id"),
    ] {
        let error = map(&structured(fields.clone())).unwrap_err();
        assert!(violation(handle)(&error), "{fields}: {error:?}");
        assert!(error.to_string().contains(fragment), "{error}");
    }
}

#[test]
fn an_answer_without_a_handle_is_unknown() {
    for (result, fragment) in [
        (
            json!({"content": [{"type": "text", "text": "{\"task_id\":\"r1\",\"status\":\"running\"}"}]}),
            "structuredContent",
        ),
        (json!({"structuredContent": null}), "structuredContent"),
        (json!({"structuredContent": [1]}), "structuredContent"),
        (structured(json!({"status": "running"})), "task_id"),
        (structured(json!({"task_id": "", "status": "running"})), "task_id"),
        (structured(json!({"task_id": 5, "status": "running"})), "task_id"),
    ] {
        let error = map(&result).unwrap_err();
        assert!(
            matches!(&error, SubmitError::Unknown(message) if message.contains(fragment)),
            "{result}: {error:?}"
        );
    }
}

#[test]
fn a_tool_that_failed_has_refused() {
    let failed = json!({"isError": true, "content": [{"type": "text", "text": "full"}],
                        "structuredContent": {"task_id": "r1", "status": "running"}});
    let message = "MCP tool 'submit_report' returned an error: full".to_owned();
    assert_eq!(map(&failed), Err(SubmitError::Refused(message)));
}

proptest::proptest! {
    #[test]
    fn any_json_is_an_answer_or_an_error(result in arbitrary_results()) {
        if let Ok(submission) = map(&result) {
            proptest::prop_assert_eq!(submission.snapshot, Snapshot::bare(Status::Submitted));
        }
    }
}
