use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::Document;
use crate::path::Step;

fn archived(raw: Value) -> Archived {
    Document::parse(raw).unwrap().into()
}

fn told(before: Value, after: Value) -> Vec<(String, &'static str, Value, Value)> {
    let found = differences(&archived(before), &archived(after));
    let or_null = |value: Option<Value>| value.unwrap_or_default();
    found.into_iter().map(|d| (d.path, d.change.as_str(), or_null(d.before), or_null(d.after))).collect()
}

#[test]
fn what_was_added_removed_and_replaced_is_told_with_its_place() {
    let before = json!({"a": 1, "mcpServers": {"gone": {"type": "http", "url": "https://h"}, "kept": {"command": "x", "args": ["a", "b"]}}});
    let after = json!({"a": 1.5, "b": null, "mcpServers": {"kept": {"args": ["a", "c"], "command": "x", "enabled": false}}});
    assert_eq!(
        told(before, after),
        [
            ("a".to_owned(), "replaced", json!(1), json!(1.5)),
            (
                "mcpServers.gone".to_owned(),
                "removed",
                json!({"type": "http", "url": "https://h"}),
                json!(null)
            ),
            ("mcpServers.kept.args[1]".to_owned(), "replaced", json!("b"), json!("c")),
            ("mcpServers.kept.enabled".to_owned(), "added", json!(null), json!(false)),
            ("b".to_owned(), "added", json!(null), json!(null)),
        ]
    );
}

#[test]
fn a_changed_secret_shows_as_changed_and_not_as_what() {
    let with = |secret: &str| {
        json!({"mcpServers": {"w": {
            "type": "http", "url": format!("https://u:{secret}@h/?token={secret}&x=1"),
            "headers": {"A": secret}, "oauth": {"client_id": "c", "client_secret": secret},
            "args": ["--token", secret, format!("K_TOKEN={secret}")],
        }}})
    };
    let found = told(with("one"), with("two"));
    let paths: Vec<_> = found.iter().map(|(path, ..)| path.trim_start_matches("mcpServers.w.")).collect();
    assert_eq!(paths, ["url", "headers.A", "oauth.client_secret", "args[1]", "args[2]"]);
    assert!(
        found.iter().all(|(_, change, before, after)| *change == "replaced" && before == after),
        "{found:?}"
    );
    assert!(found.iter().all(|(.., after)| after.as_str().unwrap().contains("***")), "{found:?}");
    assert!(!format!("{found:?}").contains("one") && !format!("{found:?}").contains("two"));
}

#[test]
fn lists_of_another_length_are_told_whole() {
    let with = |args: Value| json!({"mcpServers": {"w": {"command": "c", "args": args}}});
    assert_eq!(
        told(with(json!(["--token", "s", "x"])), with(json!(["x"]))),
        [("mcpServers.w.args".to_owned(), "replaced", json!(["--token", "***", "x"]), json!(["x"]))]
    );
}

/// Any tree; the names of secrets among its keys.
fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (0..3_u8).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let key = prop_oneof![Just("a"), Just("b"), Just("token"), Just("x y")];
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((key, inner), 0..3)
                .prop_map(|fields| fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

fn at<'v>(value: &'v mut Value, steps: &[Step]) -> &'v mut Value {
    steps.iter().fold(value, |value, step| match step {
        Step::Key(key) => &mut value[key.as_str()],
        Step::Index(index) => &mut value[*index],
    })
}

proptest! {
    /// What is told leads from the one to the other as they are shown, and nothing is told of equal ones.
    #[test]
    fn the_differences_are_all_that_is_different(before in tree(), after in tree()) {
        let (before, after) = (Archived::new(json!({"x": before})), Archived::new(json!({"x": after})));
        let (shown_before, shown_after) = (shown(&before), shown(&after));
        let mut found = Vec::new();
        compare(Side { raw: before.raw(), shown: &shown_before }, Side { raw: after.raw(), shown: &shown_after }, &Path::default(), &mut found);
        prop_assert_eq!(found.is_empty(), before.raw() == after.raw());
        let mut patched = shown_before;
        for (path, difference) in found {
            let (last, way) = path.steps().split_last().unwrap();
            match (difference.after, last) {
                (Some(value), _) => *at(&mut patched, path.steps()) = value,
                (None, Step::Key(key)) => drop(at(&mut patched, way).as_object_mut().unwrap().remove(key)),
                (None, Step::Index(_)) => unreachable!("elements are never removed one by one"),
            }
        }
        prop_assert_eq!(patched, shown_after);
    }
}
