//! A client's signed assertion about itself (RFC 7523): pure, given time and random bytes.

use std::time::Duration;

use jsonwebtoken::{EncodingKey, Header, encode};
use pudu_config::SigningAlgorithm;
use pudu_domain::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::signed::signed_by;

/// How long an assertion is good for. It is sent at once; a token server's clock may be some minutes off.
const LIFETIME: Duration = Duration::from_secs(300);

/// What is asserted.
pub(super) struct Claims<'a> {
    pub(super) client_id: &'a str,
    /// The token server: its issuer where that is known, else the token endpoint.
    pub(super) audience: &'a str,
    pub(super) now: Timestamp,
    /// Makes it good for one use.
    pub(super) nonce: [u8; 16],
}

/// The signed assertion. Errors name the field to look at and show nothing of the key.
pub(super) fn sign(
    claims: &Claims<'_>,
    private_key: &SecretString,
    key_id: Option<&SecretString>,
    algorithm: SigningAlgorithm,
) -> Result<SecretString, &'static str> {
    let pem = private_key.expose_secret().as_bytes();
    let key = match algorithm {
        SigningAlgorithm::Es256 | SigningAlgorithm::Es384 => EncodingKey::from_ec_pem(pem),
        SigningAlgorithm::EdDsa => EncodingKey::from_ed_pem(pem),
        SigningAlgorithm::Rs256
        | SigningAlgorithm::Rs384
        | SigningAlgorithm::Rs512
        | SigningAlgorithm::Ps256
        | SigningAlgorithm::Ps384
        | SigningAlgorithm::Ps512 => EncodingKey::from_rsa_pem(pem),
    };
    let key = key
        .map_err(|_| "'oauth.private_key' is no PEM key of the kind that 'oauth.signing_algorithm' needs")?;
    let mut header = Header::new(signed_by(algorithm));
    header.kid = key_id.map(|id| id.expose_secret().to_owned());
    let seconds = |at: Timestamp| at.as_millis() / 1000;
    let claims = json!({
        "iss": claims.client_id,
        "sub": claims.client_id,
        "aud": claims.audience,
        "iat": seconds(claims.now),
        "exp": seconds(claims.now + LIFETIME),
        "jti": format!("{:032x}", u128::from_be_bytes(claims.nonce)),
    });
    let signed = encode(&header, &claims, &key);
    signed.map(SecretString::from).map_err(|_| "an assertion cannot be signed with 'oauth.private_key'")
}

#[cfg(test)]
mod tests;
