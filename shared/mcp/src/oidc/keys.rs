//! The keys that an issuer publishes (RFC 7517): those that are for checking signatures, each only for the algorithms that
//! it is meant for.

use std::collections::BTreeSet;

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use pudu_config::SigningAlgorithm;
use serde_json::Value;

/// Most keys of one set that are looked at.
const MAX_KEYS: usize = 100;

/// The usable keys of one set.
#[derive(Default)]
pub(super) struct Keys(Vec<Key>);

struct Key {
    id: Option<String>,
    algorithms: Vec<SigningAlgorithm>,
    checks: DecodingKey,
}

impl Keys {
    /// Reads a set; none if it is not one. A key that is not understood is passed over: issuers have others beside those for
    /// us. A set without any key is one: whoever takes back all his keys means it.
    pub(super) fn read(document: &[u8], allowed: &BTreeSet<SigningAlgorithm>) -> Option<Self> {
        let document: Value = serde_json::from_slice(document).ok()?;
        let keys = document.get("keys")?.as_array()?;
        Some(Self(keys.iter().take(MAX_KEYS).filter_map(|key| Key::read(key, allowed)).collect()))
    }

    /// Whether there is a key of that name.
    pub(super) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|key| key.id.as_deref() == Some(id))
    }

    /// The keys by which a token may be signed. A token that names none is taken only where there is no choice (`OpenID`
    /// Connect Core section 10.1).
    pub(super) fn of(&self, id: Option<&str>, algorithm: SigningAlgorithm) -> Vec<DecodingKey> {
        let fits =
            |key: &&Key| key.algorithms.contains(&algorithm) && (id.is_none() || key.id.as_deref() == id);
        let found: Vec<DecodingKey> = self.0.iter().filter(fits).map(|key| key.checks.clone()).collect();
        if id.is_none() && found.len() > 1 { Vec::new() } else { found }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

impl Key {
    fn read(value: &Value, allowed: &BTreeSet<SigningAlgorithm>) -> Option<Self> {
        // The name of the algorithm is read by hand: the library refuses a whole key for one that it does not know, and takes
        // RSA encryption for one that it does.
        let named = value.get("alg").map(|name| name.as_str().and_then(SigningAlgorithm::parse));
        let jwk: Jwk = serde_json::from_value(value.clone()).ok()?;
        let common = &jwk.common;
        let verifies = |operations: &Vec<KeyOperations>| operations.contains(&KeyOperations::Verify);
        let is_for_signatures =
            common.public_key_use.as_ref().is_none_or(|it| *it == PublicKeyUse::Signature)
                && common.key_operations.as_ref().is_none_or(verifies);
        let algorithms: Vec<SigningAlgorithm> = of_kind(&jwk.algorithm)
            .iter()
            .copied()
            .filter(|algorithm| {
                allowed.contains(algorithm) && named.is_none_or(|named| named == Some(*algorithm))
            })
            .collect();
        if !is_for_signatures || algorithms.is_empty() {
            return None;
        }
        let checks = DecodingKey::from_jwk(&jwk).ok()?;
        Some(Self { id: jwk.common.key_id, algorithms, checks })
    }
}

/// What a key of that kind can check. A shared secret is no key of ours, whatever it says.
const fn of_kind(parameters: &AlgorithmParameters) -> &'static [SigningAlgorithm] {
    use SigningAlgorithm::{EdDsa, Es256, Es384, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512};
    match parameters {
        AlgorithmParameters::RSA(_) => &[Rs256, Rs384, Rs512, Ps256, Ps384, Ps512],
        AlgorithmParameters::EllipticCurve(key) => match key.curve {
            EllipticCurve::P256 => &[Es256],
            EllipticCurve::P384 => &[Es384],
            _ => &[],
        },
        AlgorithmParameters::OctetKeyPair(key) => match key.curve {
            EllipticCurve::Ed25519 => &[EdDsa],
            _ => &[],
        },
        _ => &[],
    }
}
