//! What is read now and was not before, and what an entry may get wrong without anything else being lost.

use serde_json::json;

use super::*;

#[test]
fn what_was_not_read_before_and_is_wrong_is_left_out_with_a_warning() {
    let entry = json!({
        "headers": {"X-A": "1", "x b": "2", "X-C": "$A B"}, "extra_headers": {"X-D": "canary\n", "X-E": 5}, "openai_api_key": 5,
    });
    let told = warnings(entry.clone());
    for place in [
        "headers: has a name",
        "headers.X-C: ",
        "extra_headers: has a value",
        "extra_headers.X-E: ",
        "openai_api_key: ",
    ] {
        assert!(told.contains(&format!("models[0].{place}")), "{place} is not in\n{told}");
    }
    assert!(told.lines().all(|line| line.ends_with("it is not read")) && !told.contains("canary"), "{told}");
    let resolved = one(entry).resolve(&Vars).unwrap();
    let names: Vec<_> = resolved.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, resolved.api_key.is_none()), (vec!["X-A"], true));
    let nowhere = url(json!({"endpoint_url": "llm.example", "api_key": "canary"})).unwrap_err();
    assert_eq!(nowhere, EntryError::NoAddress { key: "endpoint_url" }, "its key is for there");
    assert_eq!(url(json!({"endpoint_url": " "})), Ok(None));
}

#[test]
fn whoever_names_no_client_is_told_all_of_them() {
    let told = problem(json!({"use": "os:system"}));
    for name in
        ["openai", "anthropic", "aws", "google_genai", "openrouter", "groq", "mistralai", "xai", "cerebras"]
    {
        assert!(told.contains(&format!(" {name}")), "{name} is not in {told}");
    }
    assert!(told.ends_with("or pudu:Scripted"), "it is not cut: {told}");
}
