//! Judging the claims of one token whose signature holds.

use std::collections::BTreeSet;

use pudu_domain::{CredentialTag, Principal, Role, Scope, Timestamp, UserId};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{LEEWAY, Rules};

/// What a token says.
pub type Claims = Map<String, Value>;

/// Bytes of the issuer's digest in a user's id.
const ISSUER_BYTES: usize = 8;
/// In front of the digest of a subject that does not fit a user's id. A subject that begins so itself is hashed too, or
/// somebody who may choose his subject could choose another's id.
const HASHED: &str = "sha256-";
/// In the list of servers: all of them.
const ALL_SERVERS: &str = "*";
/// The two claims that are a list of words in one text (RFC 8693; the second is what some issuers call it).
const WORDS: [&str; 2] = ["scope", "scp"];

/// A token that is good now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Good {
    /// Whom it names.
    pub principal: Principal,
    /// When it says that it ends; the leeway is not in it.
    pub until: Timestamp,
}

/// Why a token is not good. Never a value of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// `iss` is not the configured one.
    #[error("it is of another issuer")]
    Issuer,
    /// `aud` does not name us.
    #[error("it is for another audience")]
    Audience,
    /// Its time is over.
    #[error("its time is over")]
    Expired,
    /// Its time has not begun.
    #[error("its time has not begun")]
    Early,
    /// A claim is missing, or is not what the standard says.
    #[error("its claim '{0}' is missing or malformed")]
    Malformed(&'static str),
    /// It is good, and makes nobody of its bearer.
    #[error("no value of its role claim gives a role here")]
    NoRole,
}

impl Rules {
    /// Judges the claims at `now` (RFC 7519 section 4.1).
    pub fn judge(&self, claims: &Claims, now: Timestamp) -> Result<Good, Refusal> {
        if claims.get("iss").and_then(Value::as_str) != Some(&self.issuer) {
            return Err(Refusal::Issuer);
        }
        if !texts(claims.get("aud")).any(|audience| audience == self.audience) {
            return Err(Refusal::Audience);
        }
        let until = moment(claims, "exp")?.ok_or(Refusal::Malformed("exp"))?;
        // At that time it is over already; the leeway is ours.
        if now >= until + LEEWAY {
            return Err(Refusal::Expired);
        }
        if moment(claims, "nbf")?.is_some_and(|from| now + LEEWAY < from) {
            return Err(Refusal::Early);
        }
        let subject = claims.get("sub").and_then(Value::as_str).filter(|subject| !subject.is_empty());
        let user = self.user(subject.ok_or(Refusal::Malformed("sub"))?)?;
        let role = self.role(claims).ok_or(Refusal::NoRole)?;
        let tag = CredentialTag::of_user(&user);
        Ok(Good { principal: Principal { user, role, tag, scope: self.scope(claims) }, until })
    }

    /// `oidc:<first 16 hex of the issuer's SHA-256>:<subject>`.
    fn user(&self, subject: &str) -> Result<UserId, Refusal> {
        let issuer = Sha256::digest(&self.issuer);
        let issuer = hex::encode(issuer.iter().copied().take(ISSUER_BYTES).collect::<Vec<_>>());
        let plain = !subject.starts_with(HASHED) && !subject.chars().any(char::is_control);
        if let Some(user) = plain.then(|| UserId::parse(format!("oidc:{issuer}:{subject}")).ok()).flatten() {
            return Ok(user);
        }
        let digest = hex::encode(Sha256::digest(subject));
        UserId::parse(format!("oidc:{issuer}:{HASHED}{digest}")).map_err(|_| Refusal::Malformed("sub"))
    }

    fn role(&self, claims: &Claims) -> Option<Role> {
        let values: BTreeSet<&str> = values(claims, &self.roles.claim);
        let has = |wanted: &BTreeSet<String>| wanted.iter().any(|value| values.contains(value.as_str()));
        if has(&self.roles.admin) {
            return Some(Role::Admin);
        }
        (has(&self.roles.user) || self.roles.everybody).then_some(Role::User)
    }

    /// A token that lacks the claim opens no server.
    fn scope(&self, claims: &Claims) -> Scope {
        let Some(claim) = &self.servers_claim else { return Scope::All };
        let names = values(claims, claim);
        if names.contains(ALL_SERVERS) {
            return Scope::All;
        }
        Scope::Only(names.into_iter().map(str::to_owned).collect())
    }
}

/// A time in seconds, perhaps with a fraction.
fn moment(claims: &Claims, name: &'static str) -> Result<Option<Timestamp>, Refusal> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let seconds = value.as_f64().filter(|seconds| (0.0..=MAX_SECONDS).contains(seconds));
    let seconds = seconds.ok_or(Refusal::Malformed(name))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
    let millis = (seconds * 1000.0) as u64;
    Ok(Some(Timestamp::from_millis(millis)))
}

/// The year 9999: whatever is later is no time.
const MAX_SECONDS: f64 = 253_402_300_799.0;

/// What stands at `claim`: under that very name (some issuers have URLs as names, with dots), else on the way that the dots
/// say. One text, or a list of texts; anything else is nothing.
fn values<'a>(claims: &'a Claims, claim: &str) -> BTreeSet<&'a str> {
    let found = claims.get(claim).or_else(|| {
        let mut names = claim.split('.');
        let first = claims.get(names.next()?)?;
        names.try_fold(first, |value, name| value.get(name))
    });
    let last = claim.rsplit('.').next().unwrap_or(claim);
    match found {
        Some(Value::String(text)) if WORDS.contains(&last) => text.split_ascii_whitespace().collect(),
        other => texts(other).collect(),
    }
}

fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    let (one, many) = match value {
        Some(Value::String(text)) => (Some(text.as_str()), None),
        Some(Value::Array(values)) => (None, Some(values)),
        _ => (None, None),
    };
    one.into_iter().chain(many.into_iter().flatten().filter_map(Value::as_str))
}
