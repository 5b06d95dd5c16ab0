//! How a name from outside becomes part of a stored key: bounded, free of separators, and never two names to one part.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};

/// Longest part that is kept as it is, in bytes after encoding.
pub const MAX_BYTES: usize = 128;

/// Bytes of the encoded name that stay readable in front of the digest of a longer one.
const HEAD_BYTES: usize = 64;

/// Everything outside `[A-Za-z0-9._~-]`.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'~').remove(b'-');

/// Percent-encodes `name`; past [`MAX_BYTES`] it keeps the first 64 bytes and appends the SHA-256 of the whole name.
///
/// Injective (up to SHA-256): a short part never has the length of a long one, and a long one carries the digest.
pub fn encode(name: &str) -> String {
    let encoded = utf8_percent_encode(name, ENCODED).to_string();
    if encoded.len() <= MAX_BYTES {
        return encoded;
    }
    // A `!` cannot come out of the encoding, so no short name can imitate a long one's part.
    format!(
        "{}!{}",
        encoded.get(..HEAD_BYTES).unwrap_or_default(),
        hex::encode(Sha256::digest(name.as_bytes()))
    )
}

/// Whether [`decode`] gives `name` back from its part.
pub fn is_reversible(name: &str) -> bool {
    utf8_percent_encode(name, ENCODED).map(str::len).sum::<usize>() <= MAX_BYTES
}

/// The name behind a part; none when the part holds a digest or is not ours.
pub fn decode(part: &str) -> Option<String> {
    if part.contains('!') {
        return None;
    }
    percent_decode_str(part).decode_utf8().ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_names_stay_readable() {
        assert_eq!(encode("web_search-2.x~"), "web_search-2.x~");
        assert_eq!(encode("a#b/ü"), "a%23b%2F%C3%BC");
    }

    #[test]
    fn long_names_are_bounded_and_differ_by_their_tail() {
        let (a, b) = (format!("{}a", "x".repeat(300)), format!("{}b", "x".repeat(300)));
        assert_ne!(encode(&a), encode(&b));
        assert_eq!(encode(&a).len(), 64 + 1 + 64);
    }

    proptest! {
        #[test]
        fn different_names_have_different_parts(a in "\\PC{0,80}", b in "\\PC{0,80}") {
            prop_assert_eq!(a == b, encode(&a) == encode(&b));
        }

        #[test]
        fn short_names_come_back(a in "\\PC{0,80}") {
            let back = decode(&encode(&a));
            prop_assert_eq!(back.is_some(), is_reversible(&a));
            prop_assert!(back.is_none_or(|b| b == a));
        }

        #[test]
        fn parts_never_hold_a_separator_and_are_bounded(a in "\\PC{0,300}") {
            let part = encode(&a);
            prop_assert!(part.len() <= 129);
            prop_assert!(!part.contains('#'));
        }
    }
}
