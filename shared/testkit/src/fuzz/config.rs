//! The extensions config: whatever JSON comes.

use pudu_config::{Archived, Document, MASK, NONCE_BYTES, SealKey, differences, merge};
use serde_json::Value;

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
    hidden(document.expose_raw(), &stored, &document.masked());

    let archived = Archived::from(document.clone());
    assert_eq!(differences(&archived, &archived), [], "a config is different from itself");

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

/// Every value of `raw` that is sealed in `stored` is masked in `shown`.
fn hidden(raw: &Value, stored: &Value, shown: &Value) {
    match (raw, stored, shown) {
        (Value::Object(raw), Value::Object(stored), Value::Object(shown)) => {
            for (key, raw) in raw {
                // A key may itself hold a secret (a URL as a key) and be shown in another form.
                if let (Some(stored), Some(shown)) = (stored.get(key), shown.get(key)) {
                    hidden(raw, stored, shown);
                }
            }
        }
        (Value::Array(raw), Value::Array(stored), Value::Array(shown)) => {
            for ((raw, stored), shown) in raw.iter().zip(stored).zip(shown) {
                hidden(raw, stored, shown);
            }
        }
        // Some are not shown at all: null, as if there were none (reference 5.10).
        _ if raw == stored || shown.is_null() => {}
        _ => assert!(shown.as_str().is_some_and(|text| text.contains(MASK)), "sealed, and shown as {shown}"),
    }
}
