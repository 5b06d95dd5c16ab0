//! The port [`TokenVerifier`]: tokens of one `OpenID` Connect issuer, by the keys that it publishes.
//!
//! It is in this crate because it fetches from a URL: the one HTTP client with the one egress rule is here, and nothing else
//! of ours may connect to what a setting or a document names. What a token's claims mean is decided in [`pudu_app::oidc`].
//!
//! What costs least is looked at first, so that garbage is refused without any cryptography: size, shape, header, the claims
//! as they are written. Only then the signature, by a key that the issuer publishes for just this algorithm; and only the
//! claims of a token whose signature holds say who somebody is. How often keys are asked for is in `ring`.

mod fetch;
mod keys;
mod ring;
mod verified;

use std::sync::Arc;

use async_trait::async_trait;
use jsonwebtoken::{Header, Validation, dangerous, decode};
use pudu_app::oidc::{Claims, Good, MAX_TOKEN_BYTES, Refusal, Rules};
use pudu_app::ports::{Clock, TokenVerifier, VerifyError};
use pudu_config::SigningAlgorithm;
use pudu_domain::Principal;

use crate::client::Client;
use crate::signed::signed_by;
use ring::Ring;
use verified::Verified;

/// Types of what a token may be (RFC 7519, RFC 9068): another kind of signed text of the same issuer is no credential.
const TYPES: [&str; 2] = ["jwt", "at+jwt"];

/// The tokens of one issuer. It asks for nothing until the first token comes.
pub struct Oidc {
    rules: Arc<Rules>,
    ring: Arc<Ring>,
    verified: Verified,
    clock: Arc<dyn Clock>,
}

impl Oidc {
    /// Tokens by `rules`, whose keys are fetched as `client` connects.
    pub fn new(rules: Rules, client: &Client, clock: Arc<dyn Clock>) -> Self {
        let rules = Arc::new(rules);
        let ring = Arc::new(Ring::new(Arc::clone(&rules), client.wire(), Arc::clone(&clock)));
        Self { rules, ring, verified: Verified::default(), clock }
    }

    async fn judge(&self, token: &str) -> Result<Option<Good>, VerifyError> {
        let Ok(written) = dangerous::insecure_decode::<Claims>(token) else { return Ok(None) };
        let Some(algorithm) = algorithm(&written.header, &self.rules) else { return Ok(None) };
        // A role is not spoken of before it is known who asks.
        match self.rules.judge(&written.claims, self.clock.now()) {
            Ok(_) | Err(Refusal::NoRole) => {}
            Err(refusal) => return Ok(refused(refusal)),
        }
        let keys = self.ring.find(written.header.kid.as_deref(), algorithm).await;
        let keys = keys.map_err(|error| VerifyError::Keys { source: Box::new(error) })?;
        let validation = signature_only(algorithm);
        let checked = keys.iter().find_map(|key| decode::<Claims>(token, key, &validation).ok());
        let Some(checked) = checked else {
            tracing::debug!("a token's signature is by no key of its issuer");
            return Ok(None);
        };
        match self.rules.judge(&checked.claims, self.clock.now()) {
            Ok(good) => Ok(Some(good)),
            Err(Refusal::NoRole) => Err(VerifyError::NoRole),
            Err(refusal) => Ok(refused(refusal)),
        }
    }
}

#[async_trait]
impl TokenVerifier for Oidc {
    async fn verify(&self, token: &str) -> Result<Option<Principal>, VerifyError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Ok(None);
        }
        if let Some(principal) = self.verified.get(token, self.clock.now()) {
            return Ok(Some(principal));
        }
        let good = self.judge(token).await?;
        if let Some(good) = &good {
            self.verified.keep(token, good, self.clock.now());
        }
        Ok(good.map(|good| good.principal))
    }
}

/// The reason is for whoever sets this up; a caller learns only that the token is not good.
fn refused(refusal: Refusal) -> Option<Good> {
    tracing::debug!(reason = %refusal, "a token is not good");
    None
}

/// How the token says that it is signed, if that may be and nothing else in its header is in the way.
fn algorithm(header: &Header, rules: &Rules) -> Option<SigningAlgorithm> {
    let kind = header.typ.as_deref().map(str::to_ascii_lowercase);
    let kind = kind.as_deref().map(|kind| kind.strip_prefix("application/").unwrap_or(kind));
    // `crit` names what must be understood, and nothing of it is (RFC 7515 section 4.1.11).
    if header.crit.is_some() || kind.is_some_and(|kind| !TYPES.contains(&kind)) {
        return None;
    }
    rules.algorithms.iter().copied().find(|algorithm| signed_by(*algorithm) == header.alg)
}

/// The library looks at the signature alone: it reads the machine's clock and takes claims that are lists for single ones.
fn signature_only(algorithm: SigningAlgorithm) -> Validation {
    let mut validation = Validation::new(signed_by(algorithm));
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    validation
}

#[cfg(test)]
mod tests;
