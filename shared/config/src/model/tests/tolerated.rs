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
fn a_switch_is_taken_in_every_spelling_and_what_is_none_is_told() {
    for (value, caching, stream) in [
        (json!(false), Some(false), json!({"stream_options": null})),
        (json!("no"), Some(false), json!({"stream_options": null})),
        (json!(0), Some(false), json!({"stream_options": null})),
        (json!("true"), Some(true), json!({})),
        (json!(null), None, json!({})),
        (json!("maybe"), None, json!({})),
    ] {
        let entry = json!({"enable_prompt_caching": value, "stream_usage": value});
        assert_eq!(one(entry.clone()).prompt_caching, caching, "{value}");
        assert_eq!(extras(entry.clone(), true), stream, "{value}");
        let told = if value == "maybe" {
            "models[0].enable_prompt_caching: must be true or false; it is not read\n\
             models[0].stream_usage: must be true or false; it is not read"
        } else {
            ""
        };
        assert_eq!(warnings(entry), told);
    }
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
