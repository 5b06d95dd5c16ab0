//! The keys by which callers prove who they are: what one looks like, and how a shown one is compared with a stored one.
//!
//! `pudu_<id>_<secret>`. The id is no secret: it names the row and stands in lists and records. The secret has 256 random
//! bits, so SHA-256 of the whole text is enough to store: nobody tries that many, and a slow hash would only slow down every
//! request.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::ids::{KEY_ID_CHARS, KeyId};

/// How every key begins, and no token of anybody else's that Pudu takes.
pub const PREFIX: &str = "pudu_";
/// Characters of a secret: base64url of 32 bytes without padding.
pub const SECRET_CHARS: usize = 43;
const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;
/// Random bytes that a new key is made of.
pub const RANDOM_BYTES: usize = ID_BYTES + SECRET_BYTES;

/// A key as its holder has it. It is shown once, when it is made.
#[derive(Debug, Clone)]
pub struct ApiKey {
    id: KeyId,
    text: SecretString,
}

/// What is stored of a key's text. Two are compared in a time that does not depend on them.
#[derive(Clone, Copy)]
pub struct KeyDigest([u8; SECRET_BYTES]);

impl ApiKey {
    /// A new key of these random bytes.
    pub fn new(random: [u8; RANDOM_BYTES]) -> Self {
        let (id, secret) = random.split_at(ID_BYTES);
        let id = KeyId::of_bytes(id);
        let text = format!("{PREFIX}{id}_{}", URL_SAFE_NO_PAD.encode(secret));
        Self { id, text: text.into() }
    }

    /// A key as somebody shows it; none if the text is none.
    pub fn parse(shown: &str) -> Option<Self> {
        let (id, secret) = shown.strip_prefix(PREFIX)?.split_at_checked(KEY_ID_CHARS)?;
        let secret = secret.strip_prefix('_')?;
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if secret.len() != SECRET_CHARS || !secret.bytes().all(legal) {
            return None;
        }
        Some(Self { id: KeyId::parse(id).ok()?, text: shown.into() })
    }

    /// Which key it is.
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// What is stored of it.
    pub fn digest(&self) -> KeyDigest {
        KeyDigest(Sha256::digest(self.text.expose_secret()).into())
    }

    /// The text, for whoever made the key.
    pub fn expose(&self) -> &str {
        self.text.expose_secret()
    }
}

impl KeyDigest {
    /// A digest as it was stored.
    pub const fn stored(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// SHA-256 of the key's text.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl PartialEq for KeyDigest {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for KeyDigest {}

impl fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyDigest(..)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> ApiKey {
        ApiKey::new(std::array::from_fn(|at| u8::try_from(at).unwrap()))
    }

    #[test]
    fn a_key_is_its_prefix_its_id_and_256_bits() {
        let key = key();
        let (head, secret) = key.expose().split_at(18);
        assert_eq!(head, format!("pudu_{}_", key.id()));
        assert_eq!(URL_SAFE_NO_PAD.decode(secret).unwrap(), (8..40).collect::<Vec<u8>>());
        assert_eq!(hex::encode(key.digest().bytes()), hex::encode(Sha256::digest(key.expose())));
    }

    #[test]
    fn a_key_is_not_shown_by_accident() {
        let key = key();
        let secret = &key.expose()[18..];
        let shown = format!("{key:?} {:?}", key.digest());
        assert!(!shown.contains(secret) && !shown.contains(&hex::encode(key.digest().bytes())), "{shown}");
    }

    #[test]
    fn what_is_no_key_does_not_parse() {
        let good = key().expose().to_owned();
        assert!(ApiKey::parse(&good).is_some());
        let (id, secret) = (&good[5..17], &good[18..]);
        for bad in [
            "",
            "pudu_",
            "pudu__",
            &good[..good.len() - 1],
            &format!("{good}A"),
            &format!(" {good}"),
            &format!("{good}\n"),
            &good.to_uppercase(),
            &good.replace("pudu_", "pudu-"),
            &format!("pudu_{}_{secret}", id.to_uppercase()),
            &format!("pudu_{id}-{secret}"),
            &format!("pudu_{id}_{}=", &secret[1..]),
            &format!("pudu_{id}_{}ü", &secret[2..]),
            &format!("pudu_ü{}_{secret}", &id[1..]),
            &format!("pudu_{}ü_{secret}", &id[..11]),
            &"pudu_".repeat(100_000),
        ] {
            assert!(ApiKey::parse(bad).is_none(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn every_new_key_parses_back(random in prop::collection::vec(any::<u8>(), RANDOM_BYTES)) {
            let key = ApiKey::new(random.try_into().unwrap());
            let parsed = ApiKey::parse(key.expose()).unwrap();
            prop_assert_eq!(parsed.id(), key.id());
            prop_assert_eq!(parsed.digest(), key.digest());
        }

        #[test]
        fn keys_that_differ_have_different_digests(at in 0..RANDOM_BYTES, bit in 0..8_u8) {
            let mut random: [u8; RANDOM_BYTES] = std::array::from_fn(|at| u8::try_from(at).unwrap());
            let before = ApiKey::new(random);
            random[at] ^= 1 << bit;
            prop_assert_ne!(ApiKey::new(random).digest(), before.digest());
        }

        #[test]
        fn any_text_is_judged(text in "(pudu_)?\\PC{0,80}") {
            let parsed = ApiKey::parse(&text);
            prop_assert!(parsed.is_none_or(|key| key.expose() == text));
        }
    }
}
