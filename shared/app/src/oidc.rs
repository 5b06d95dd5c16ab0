//! Which tokens of an `OpenID` Connect issuer are good here, and whom their claims name: pure. Signatures are not known here;
//! the adapter of [`TokenVerifier`](crate::ports::TokenVerifier) hands over the claims of tokens whose signature holds.
//!
//! What a token does not say is not assumed: no role, no servers. Times are compared with [`LEEWAY`], because the clocks of
//! issuers differ from ours.

mod claims;

use std::collections::BTreeSet;
use std::time::Duration;

use pudu_config::SigningAlgorithm;

pub use claims::{Claims, Good, Refusal};

/// How far an issuer's clock may be from ours.
pub const LEEWAY: Duration = Duration::from_secs(30);
/// Longest token that is looked at, in bytes; more does not fit into the headers of most servers either.
pub const MAX_TOKEN_BYTES: usize = 8 * 1024;

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
    pub algorithms: BTreeSet<SigningAlgorithm>,
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
