//! Header legality: whatever name and value.

use http::{HeaderName, HeaderValue};
use pudu_config::{Illegal, illegal_value, legal_name};

/// `data` is a name, a line feed, and a value. Ours and the HTTP library's rule agree: no legal pair is refused on its way
/// out but for the control characters that the library does not send, and no illegal one passes.
pub fn headers(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (name, value) = text.split_once('\n').unwrap_or((text, ""));
    assert_eq!(legal_name(name), HeaderName::from_bytes(name.as_bytes()).is_ok(), "the name {name:?}");
    match illegal_value(value) {
        None => {
            let unsent = value.chars().any(|c| c != '\t' && c.is_ascii_control());
            assert_eq!(HeaderValue::from_str(value).is_err(), unsent, "the value {value:?}");
            assert!(!value.contains(['\r', '\n', '\0']), "{value:?} ends its line");
            assert_eq!(value.trim_matches([' ', '\t']), value, "{value:?} is not what arrives");
        }
        Some(Illegal::OutsideAscii) => assert!(!value.is_ascii()),
        Some(Illegal::LineBreak) => assert!(HeaderValue::from_str(value).is_err()),
        Some(Illegal::Whitespace) => assert_ne!(value.trim_matches([' ', '\t']), value),
    }
}
