use secrecy::ExposeSecret;
use serde_json::json;

use super::*;

fn read(secrets: &Value) -> Option<Vec<(String, String)>> {
    let context: Context = serde_json::from_value(json!({ "secrets": secrets })).ok()?;
    Some(
        context
            .secrets
            .0
            .iter()
            .map(|(key, value)| (key.clone(), value.expose_secret().to_owned()))
            .collect(),
    )
}

#[test]
fn only_strings_are_secrets() {
    let found = read(&json!({"a": "x", "b": 1, "c": null, "d": ["x"], "e": {"x": "y"}, "f": ""})).unwrap();
    assert_eq!(found, [("a".to_owned(), "x".to_owned()), ("f".to_owned(), String::new())]);
}

#[test]
fn secrets_are_bounded() {
    let many = |count: usize| (0..count).map(|n| (format!("k{n}"), json!("v"))).collect::<Map<_, _>>();
    assert_eq!(read(&Value::Object(many(MAX_SECRETS))).unwrap().len(), MAX_SECRETS);
    assert_eq!(read(&Value::Object(many(MAX_SECRETS + 1))), None);
    assert!(read(&json!({ "k": "x".repeat(MAX_BYTES) })).is_some());
    assert_eq!(read(&json!({ "k": "x".repeat(MAX_BYTES + 1) })), None);
    assert_eq!(read(&json!({ "k".repeat(MAX_BYTES + 1): "x" })), None);
}

#[test]
fn a_context_of_another_shape_is_refused() {
    assert_eq!(read(&json!(["x"])), None);
    assert!(serde_json::from_value::<Context>(json!({"secret": {}})).is_err());
    assert!(serde_json::from_value::<Context>(json!({})).is_ok());
}
