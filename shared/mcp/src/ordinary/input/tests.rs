use proptest::prelude::*;
use pudu_app::ports::AnswerError;
use serde_json::json;

use super::super::tests::{arbitrary_results, structured};
use super::*;

fn told(result: &Value) -> Result<(), AnswerError> {
    read("answer_report", result, "r1", &Redactor::default())
}

#[test]
fn a_question_names_its_schema_or_takes_any_json() {
    let number = json!({"type": "number"});
    for (asked, expected) in [
        (json!({"prompt": "?", "schema": number}), number.clone()),
        (json!({"prompt": "?", "requestedSchema": number}), number.clone()),
        (json!({"schema": "no object", "requestedSchema": number}), number.clone()),
        (json!({"schema": {}, "requestedSchema": number}), json!({})),
        (json!({"prompt": "?"}), json!(true)),
        (json!({"schema": [], "requestedSchema": null}), json!(true)),
        (json!("which year?"), json!(true)),
    ] {
        assert_eq!(schema(&asked), expected, "{asked}");
    }
}

#[test]
fn a_toolset_without_an_input_tool_takes_no_answers() {
    let data = json!({"submit_tool": "a", "status_tool": "b", "cancel_tool": "c"});
    assert!(tool(&data).unwrap_err().contains("input_tool"));
    let mut with = data.clone();
    with["input_tool"] = json!("d");
    assert_eq!(tool(&with), Ok("d".to_owned()));
    assert!(
        tool(&json!({})).unwrap_err().contains("submit_tool"),
        "data that is broken says what is missing"
    );
}

#[test]
fn an_answer_is_taken_unless_the_tool_says_otherwise() {
    for taken in [
        json!({"content": []}),
        structured(json!({})),
        structured(json!({"task_id": "r1", "more": 1})),
        structured(json!({"task_id": null})),
        json!({"structuredContent": null, "isError": false}),
    ] {
        assert_eq!(told(&taken), Ok(()), "{taken}");
    }
    let error = json!({"isError": true, "content": [{"type": "text", "text": "no such year"}]});
    assert!(matches!(told(&error), Err(AnswerError::Refused(why)) if why.contains("no such year")));
    for other in [json!("r2"), json!(7)] {
        let answer = told(&structured(json!({"task_id": other})));
        assert!(matches!(answer, Err(AnswerError::Refused(why)) if why.contains("task_id")));
    }
}

proptest! {
    #[test]
    fn no_result_is_unsure(result in arbitrary_results()) {
        prop_assert!(!matches!(told(&result), Err(AnswerError::Retry(_))), "the call was executed");
    }
}
