use proptest::prelude::*;

use super::*;
use crate::strategies::{key, time};

proptest! {
    #[test]
    fn a_cursor_continues_where_it_was_made(key in key(), at in time()) {
        let last = Row::from([
            (attr::PK.to_owned(), AttributeValue::S(key.pk())),
            (attr::SK.to_owned(), AttributeValue::S(key.sk())),
            (attr::DUE_PK.to_owned(), AttributeValue::S("poll#03".to_owned())),
            (attr::DUE_AT.to_owned(), number(at.as_millis())),
        ]);
        prop_assert_eq!(start_key("poll#03", &cursor(&last).unwrap()), Some(last));
    }
}

#[test]
fn a_foreign_cursor_is_none() {
    for bad in ["", "5", "5\na\nb", "x\nconfig\ncurrent", "5\nconfig\ncurrent\n"] {
        assert_eq!(start_key("poll#03", bad), None, "{bad:?}");
    }
}
