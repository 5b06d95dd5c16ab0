//! The template against the code. What the expanded template must be beyond that is in `tests/template/rules.py`.

use std::collections::BTreeSet;

use pudu_dynamo::schema;
use pudu_lambda::settings;
use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value, json};

use super::{none, read, sources};

/// The template as JSON; what a tag (`!Ref`, `!GetAtt`) says is left out, what it is put on is kept.
fn template() -> Value {
    let text = read("template.yaml");
    let documents = Yaml::load_from_str(&text).unwrap();
    json_of(documents.first().unwrap())
}

fn json_of(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Value(Scalar::String(text)) => json!(text.as_ref()),
        Yaml::Value(Scalar::Integer(number)) => json!(number),
        Yaml::Value(Scalar::FloatingPoint(number)) => json!(number.into_inner()),
        Yaml::Value(Scalar::Boolean(flag)) => json!(flag),
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Sequence(items) => items.iter().map(json_of).collect(),
        Yaml::Mapping(entries) => {
            let field = |(key, value): (&Yaml<'_>, &Yaml<'_>)| {
                (json_of(key).as_str().unwrap().to_owned(), json_of(value))
            };
            Value::Object(entries.iter().map(field).collect::<Map<_, _>>())
        }
        Yaml::Tagged(_, inner) => json_of(inner),
        other => panic!("the template has {other:?}"),
    }
}

/// Every value of that key, wherever it stands.
fn all<'a>(value: &'a Value, key: &str) -> Vec<&'a Value> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, inner)| (name == key).then_some(inner).into_iter().chain(all(inner, key)))
            .collect(),
        Value::Array(items) => items.iter().flat_map(|inner| all(inner, key)).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn ai_12_template_and_settings_know_the_same_variables() {
    let template = template();
    let set: BTreeSet<&str> = all(&template, "Variables")
        .into_iter()
        .flat_map(|variables| variables.as_object().unwrap().keys().map(String::as_str))
        .collect();
    assert!(set.contains(settings::TABLE), "{set:?}");
    let read: BTreeSet<&str> = settings::NAMES.into_iter().collect();
    // A key file is for one machine and for tests; the cloud has KMS.
    let wanted: BTreeSet<&str> =
        read.iter().copied().filter(|name| *name != settings::SEAL_KEY_FILE).collect();
    assert_eq!(set, wanted);

    let quoted = |text: &str| -> Vec<String> {
        let parts = text.split('"').skip(1).step_by(2);
        let ours = parts.filter(|part| part.starts_with("PUDU_") && part.len() > 5);
        ours.filter(|part| part.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
            .map(str::to_owned)
            .collect()
    };
    let unknown: Vec<String> = sources()
        .iter()
        .filter(|source| source.path.starts_with("functions/") || source.path.starts_with("shared/lambda/"))
        .flat_map(|source| quoted(&source.text).into_iter().map(|name| format!("{}: {name}", source.path)))
        .filter(|found| !read.iter().any(|name| found.ends_with(&format!(": {name}"))))
        .collect();
    none(&unknown);
}

#[test]
fn ai_13_the_table_has_one_shape() {
    let template = template();
    let table = &template["Resources"]["Table"]["Properties"];
    let key = |[hash, range]: [&str; 2]| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    assert_eq!(table["KeySchema"], key(schema::TABLE_KEY));
    let index = json!([{
        "IndexName": schema::INDEX,
        "KeySchema": key(schema::INDEX_KEY),
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": schema::INDEX_PROJECTION},
    }]);
    assert_eq!(table["GlobalSecondaryIndexes"], index);
    let [pk, sk] = schema::TABLE_KEY;
    let [due_pk, due_at] = schema::INDEX_KEY;
    let attributes = json!([
        {"AttributeName": pk, "AttributeType": "S"}, {"AttributeName": sk, "AttributeType": "S"},
        {"AttributeName": due_pk, "AttributeType": "S"}, {"AttributeName": due_at, "AttributeType": "N"},
    ]);
    assert_eq!(table["AttributeDefinitions"], attributes);
    assert_eq!(table["TimeToLiveSpecification"], json!({"AttributeName": schema::TTL, "Enabled": true}));
    assert_eq!(table["BillingMode"], "PAY_PER_REQUEST");
}

#[test]
fn ai_14_the_only_doors_are_the_gateways_function_urls() {
    // That every route behind them needs a credential is `it::http::callers`.
    let template = template();
    let doors = all(&template, "FunctionUrlConfig");
    let modes: Vec<&str> = doors.iter().map(|door| door["InvokeMode"].as_str().unwrap()).collect();
    assert_eq!(modes, ["BUFFERED", "RESPONSE_STREAM"]);
    assert_eq!(all(&template, "AuthType"), [&json!("NONE"), &json!("NONE")]);
    for name in ["Gateway", "GatewayStreams"] {
        let function = &template["Resources"][name]["Properties"];
        assert_eq!(
            (function["CodeUri"].as_str(), all(function, "AuthType").len()),
            (Some("target/lambda/pudu-gateway"), 1)
        );
    }

    let resources = template["Resources"].as_object().unwrap();
    let events = resources.values().flat_map(|resource| all(resource, "Events"));
    let kinds: BTreeSet<&str> = events
        .flat_map(|events| events.as_object().unwrap().values().map(|event| event["Type"].as_str().unwrap()))
        .collect();
    assert_eq!(
        kinds,
        BTreeSet::from(["ScheduleV2"]),
        "an event source that is not a schedule is another door"
    );
    let others = resources.iter().filter(|(_, resource)| {
        let kind = resource["Type"].as_str().unwrap();
        ["Api", "Url", "Permission", "LoadBalancing", "EventSourceMapping", "CloudFront"]
            .iter()
            .any(|door| kind.contains(door))
    });
    none(&others.map(|(name, _)| format!("{name} is another door")).collect::<Vec<_>>());
}
