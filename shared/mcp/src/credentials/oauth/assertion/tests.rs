use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use serde_json::Value;

use super::*;

/// Keys for these tests only.
const EC: &str = include_str!("ec.pem");
const EC_PUBLIC: &str = include_str!("ec.pub.pem");
const RSA: &str = include_str!("rsa.pem");
const RSA_PUBLIC: &str = include_str!("rsa.pub.pem");

const NOW: Timestamp = Timestamp::from_millis(4_000_000_000_500);

fn claims() -> Claims<'static> {
    Claims { client_id: "me", audience: "https://idp/", now: NOW, nonce: [7; 16] }
}

fn signed(pem: &str, algorithm: SigningAlgorithm) -> Result<SecretString, &'static str> {
    sign(&claims(), &SecretString::from(pem), Some(&SecretString::from("k1")), algorithm)
}

#[test]
fn an_assertion_says_who_to_whom_and_once_and_its_signature_holds() {
    let (ec, rsa) =
        (DecodingKey::from_ec_pem(EC_PUBLIC.as_bytes()), DecodingKey::from_rsa_pem(RSA_PUBLIC.as_bytes()));
    let (ec, rsa) = (ec.unwrap(), rsa.unwrap());
    for (pem, algorithm, key, expected) in [
        (EC, SigningAlgorithm::Es256, &ec, Algorithm::ES256),
        (RSA, SigningAlgorithm::Rs256, &rsa, Algorithm::RS256),
        (RSA, SigningAlgorithm::Ps384, &rsa, Algorithm::PS384),
    ] {
        let assertion = signed(pem, algorithm).unwrap();
        let mut validation = Validation::new(expected);
        validation.set_audience(&["https://idp/"]);
        let read = decode::<Value>(assertion.expose_secret(), key, &validation).unwrap();
        assert_eq!(read.header.kid.as_deref(), Some("k1"));
        let claims = read.claims;
        assert_eq!((&claims["iss"], &claims["sub"]), (&Value::from("me"), &Value::from("me")));
        assert_eq!(
            (&claims["iat"], &claims["exp"]),
            (&Value::from(4_000_000_000_u64), &Value::from(4_000_000_300_u64))
        );
        assert_eq!(claims["jti"], "07".repeat(16));
    }
}

#[test]
fn a_key_that_does_not_fit_is_told_without_it() {
    for (pem, algorithm) in [
        ("canary", SigningAlgorithm::Rs256),
        (EC, SigningAlgorithm::Rs256),
        (RSA, SigningAlgorithm::Es256),
        (RSA, SigningAlgorithm::EdDsa),
    ] {
        let why = signed(pem, algorithm).unwrap_err();
        assert!(why.contains("oauth.private_key") && !why.contains("canary"), "{why}");
    }
}
