//! Whatever a valid config says comes back from a file and from the table as it was.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use pudu_app::configs::TableSource;
use pudu_app::ports::ConfigSource;
use pudu_config::Document;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_lambda::seal_keys::FileKeys;
use serde_json::{Map, Value, json};

use super::super::FileSource;
use crate::house::testing::house;

/// Any JSON whose texts say nothing that is refused: references to variables of ours, masks.
fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no such number", |float| float.is_finite()).prop_map(Value::from),
        "[^$*s]{0,8}".prop_map(Value::from),
        Just(json!("$A_VARIABLE")),
        Just(json!("https://u:p@host/?token=t&x=1#f")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((key(), inner), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Names that are no field of ours; some of them are of secrets.
fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        "x[^\\p{Cc}]{0,6}",
        Just("apiKey".to_owned()),
        Just("x_password".to_owned()),
        Just("x \"quoted\"".to_owned())
    ]
}

fn extras() -> impl Strategy<Value = Map<String, Value>> {
    vec((key(), tree()), 0..4).prop_map(|fields| fields.into_iter().collect())
}

fn document() -> impl Strategy<Value = Value> {
    let entry = (extras(), 0..4_u8, any::<bool>()).prop_map(|(mut entry, kind, enabled)| {
        let declared = match kind {
            0 => json!({"type": "http", "url": "https://u:p@h/mcp", "headers": {"A": "s", "B": "$V", "C": "$$x"}}),
            1 => json!({"transport": "sse", "url": "$URL", "oauth": {"token_url": "$T", "client_secret": "s", "x": [1.0]}}),
            2 => json!({"command": "npx", "args": ["--db", "postgres://a:b@c"], "env": {"K": "é"}, "cwd": "/srv"}),
            _ => json!({"type": "websocket", "tools": {"t": {"routing": {"priority": 100}, "token": "s"}}}),
        };
        entry.extend(declared.as_object().unwrap().clone());
        if enabled {
            entry.insert("enabled".into(), "false".into());
        }
        Value::Object(entry)
    });
    (extras(), vec(("s[^\\p{Cc}]{0,6}", entry), 0..3)).prop_map(|(mut top, servers)| {
        top.insert("mcpServers".into(), Value::Object(servers.into_iter().collect()));
        Value::Object(top)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_valid_config_comes_back_as_it_was(raws in vec(document(), 1..4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let written: Vec<_> = raws.iter().map(|raw| Document::parse(raw.clone()).unwrap()).collect();
        let read: Vec<_> = runtime.block_on(async {
            let (folder, house) = house();
            house.create_table().await.unwrap();
            let keys = Arc::new(FileKeys::new(folder.path().join("seal.key"), Arc::new(OsRandom)));
            let table = TableSource::new(house.table.clone(), keys, Arc::new(SystemClock), Arc::new(OsRandom));
            let path = folder.path().join("config.json");
            std::fs::write(&path, "{}").unwrap();
            let file = FileSource::new(&path);
            let mut read = Vec::new();
            for document in &written {
                for source in [&table as &dyn ConfigSource, &file] {
                    let over = source.version().await.unwrap();
                    let version = source.replace(&over, document, None).await.unwrap().unwrap();
                    let again = source.load().await.unwrap();
                    assert_eq!(again.version, version);
                    read.push(again.document);
                }
                // As another process reads it, which has not written it.
                read.push(FileSource::new(&path).load().await.unwrap().document);
            }
            read
        });
        for (document, read) in written.iter().zip(read.chunks(3)) {
            for again in read {
                prop_assert_eq!(again.expose_raw().to_string(), document.expose_raw().to_string());
            }
        }
    }
}
