//! The extensions config: whatever JSON comes.

use pudu_config::{Document, NONCE_BYTES, SealKey, merge};
use serde_json::{Map, Value};

/// Problems that one document reports at most, and the line that says how many more there are.
const MOST_PROBLEMS: usize = 101;

/// `data` is the text of a config file. What is read as valid stays the same through text, table and a PUT of what was
/// shown, and what is shown hides every literal that is sealed.
pub fn config(data: &[u8]) {
    let Ok(raw) = serde_json::from_slice::<Value>(data) else { return };
    let document = match Document::examine(raw).document {
        Ok(document) => document,
        Err(problems) => {
            assert!(!problems.is_empty() && problems.len() <= MOST_PROBLEMS, "{} problems", problems.len());
            return;
        }
    };
    let text = document.expose_raw().to_string();
    let again = parsed(serde_json::from_str(&text).expect("JSON reads its own text"));
    assert_eq!(again.expose_raw().to_string(), text, "a config changes by being written and read");
    let key = SealKey::new([7; 32]);
    let digests = |document: &Document| -> Vec<String> {
        document.servers().iter().map(|server| key.digest(server)).collect()
    };
    assert_eq!(digests(&again), digests(&document), "a server changes by being written and read");

    let mut count = 0_u8;
    let mut nonce = || {
        count = count.wrapping_add(1);
        [count; NONCE_BYTES]
    };
    let stored = key.seal_document(&document, &mut nonce).expect("small values are sealed");
    let opened = key.open_document(stored.clone()).expect("what was sealed opens");
    assert_eq!(opened.expose_raw(), document.expose_raw(), "a config changes by being sealed and opened");
    assert_eq!(key.etag(&opened), key.etag(&document));
    hidden(&stored, &document.masked());

    // What a GET answers may be sent back: nothing changes by it.
    let shown = document.response();
    if let Ok(merged) = merge(shown.clone(), Some(&document)) {
        assert_eq!(parsed(merged).response(), shown, "a config changes by a PUT of what was shown");
    }
}

#[track_caller]
fn parsed(raw: Value) -> Document {
    Document::parse(raw).unwrap_or_else(|problems| panic!("what was valid is not any more: {problems:?}"))
}

/// Every place that is sealed in `stored` is masked in `shown`.
fn hidden(stored: &Value, shown: &Value) {
    match (stored, shown) {
        (Value::Object(stored), Value::Object(shown)) => {
            // A key may itself hold a secret (a URL as a key) and be shown in another form.
            let pairs = stored.iter().filter_map(|(key, value)| Some((value, shown.get(key)?)));
            pairs.for_each(|(stored, shown)| hidden(stored, shown));
        }
        (Value::Array(stored), Value::Array(shown)) => {
            stored.iter().zip(shown).for_each(|(stored, shown)| hidden(stored, shown));
        }
        (Value::String(sealed), shown) if sealed.starts_with("sealed:v1:") => {
            let clear = match shown {
                Value::String(text) => text.contains("***"),
                Value::Null => true,
                Value::Object(members) => *members == Map::new(),
                _ => false,
            };
            assert!(clear, "a value that is sealed is shown as {shown}");
        }
        _ => {}
    }
}
