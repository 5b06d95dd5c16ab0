//! Every operation says what a caller must know.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{contract, operations};

#[test]
fn every_operation_says_what_it_is_for_and_what_may_come_of_it() {
    let contract = contract();
    let tags: Vec<&Value> = contract["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
    let (mut problems, mut ids) = (Vec::new(), BTreeSet::new());
    for operation in operations(&contract) {
        let (place, described) = (&operation.place, &operation.described);
        let mut must = |holds: bool, what: &str| {
            if !holds {
                problems.push(format!("{place}: {what}"));
            }
        };
        let text = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
        must(text(&described["operationId"]), "no operation id");
        must(ids.insert(described["operationId"].to_string()), "its operation id is another's");
        must(text(&described["summary"]), "no summary");
        let own = described["tags"].as_array().unwrap();
        must(
            own.len() == 1 && own.iter().all(|tag| tags.contains(&tag)),
            "not one of the tags that the page has",
        );
        for parameter in described["parameters"].as_array().into_iter().flatten() {
            must(text(&parameter["description"]), &format!("nothing is said of {}", parameter["name"]));
        }
        let responses = described["responses"].as_object().unwrap();
        must(responses.keys().any(|status| status.starts_with('2')), "nothing good may come of it");
        for (status, response) in responses {
            must(text(&response["description"]), &format!("nothing is said of {status}"));
            // What MCP clients get wrong is told in their protocol.
            let error = (status.starts_with('4') || status.starts_with('5')) && own[0] != "mcp";
            let body = &response["content"]["application/json"]["schema"]["$ref"];
            must(
                !error || body == "#/components/schemas/Detail",
                &format!("{status} is told in other words"),
            );
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(ids.len() >= 15, "only {} operations were read", ids.len());
}

#[test]
fn every_schema_that_is_named_is_there() {
    fn named(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|field| named(field, found));
            }
            Value::Array(items) => items.iter().for_each(|item| named(item, found)),
            _ => {}
        }
    }
    let contract = contract();
    let mut found = BTreeSet::new();
    named(&contract, &mut found);
    assert!(!found.is_empty());
    for name in found {
        let pointer = name.strip_prefix('#').unwrap();
        assert!(contract.pointer(pointer).is_some(), "{name} is not there");
    }
}
