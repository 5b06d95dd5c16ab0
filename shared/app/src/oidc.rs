//! Which tokens of an `OpenID` Connect issuer are good here, and whom their claims name: pure. Signatures are not known here;
//! the adapter of [`TokenVerifier`](crate::ports::TokenVerifier) hands over the claims of tokens whose signature holds.
//!
//! What a token does not say is not assumed: no role, no servers. Times are compared with [`LEEWAY`], because the clocks of
//! issuers differ from ours.

mod claims;

use std::collections::BTreeSet;
use std::time::Duration;

pub use claims::{Claims, Good, Refusal};

/// How far an issuer's clock may be from ours.
pub const LEEWAY: Duration = Duration::from_secs(30);
/// Longest token that is looked at, in bytes; more does not fit into the headers of most servers either.
pub const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// How a token may be signed (RFC 7518, RFC 8037). Only by a pair of keys: what is signed with a shared secret could be
/// signed by whoever can check it, and what is not signed by anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// RSA PKCS#1 v1.5 with SHA-256.
    Rs256,
    /// RSA PKCS#1 v1.5 with SHA-384.
    Rs384,
    /// RSA PKCS#1 v1.5 with SHA-512.
    Rs512,
    /// RSA PSS with SHA-256.
    Ps256,
    /// RSA PSS with SHA-384.
    Ps384,
    /// RSA PSS with SHA-512.
    Ps512,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// Each of them.
    pub const ALL: [Self; 9] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
    ];

    /// Its name in tokens, key sets and settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The one of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == name)
    }
}

/// What an operator says about the issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Its name, exactly as it stands in `iss`; a URL.
    pub issuer: String,
    /// Who we are to it: must be (among) what stands in `aud`.
    pub audience: String,
    /// Where its keys are; without it they are where its discovery document says.
    pub jwks_url: Option<String>,
    /// How it may sign; never empty.
    pub algorithms: BTreeSet<Algorithm>,
    /// Who is what.
    pub roles: Roles,
    /// The claim that lists the servers that a caller may use; without it a caller may use all. Dots as in [`Roles::claim`].
    pub servers_claim: Option<String>,
}

/// From a claim to a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roles {
    /// The claim: its name, or the names of objects on the way to it with dots between (`realm_access.roles`).
    pub claim: String,
    /// Whose value makes an administrator.
    pub admin: BTreeSet<String>,
    /// Whose value makes a user.
    pub user: BTreeSet<String>,
    /// Whether everybody else with a valid token is a user too.
    pub everybody: bool,
}

#[cfg(test)]
mod tests;
