//! Whose token it is, by the word of somebody else who issues them (OIDC).

use std::error::Error;

use async_trait::async_trait;
use pudu_domain::Principal;

/// Nothing can be said of the bearer, or nothing but that he may not come in.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The issuer's keys could not be had, so nothing is known of the token.
    #[error("the issuer of tokens could not be asked for its keys; try again")]
    Keys {
        /// What went wrong; never the token.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The token is good, and gives its bearer no role.
    #[error("this token is good, but gives no role here; ask whoever runs this Pudu for one")]
    NoRole,
}

/// Who issues tokens that are none of ours.
#[async_trait]
pub trait TokenVerifier: Send + Sync {
    /// Whose token it is; none for anything that is not a valid token of this issuer for us, now. Text of any length and kind.
    async fn verify(&self, token: &str) -> Result<Option<Principal>, VerifyError>;
}
