//! Signed tokens (RFC 7515): what is the same for those that are made here and those that are checked here.

use pudu_config::SigningAlgorithm;

/// The library's name of an algorithm.
pub(crate) const fn signed_by(algorithm: SigningAlgorithm) -> jsonwebtoken::Algorithm {
    use jsonwebtoken::Algorithm as Its;
    match algorithm {
        SigningAlgorithm::Rs256 => Its::RS256,
        SigningAlgorithm::Rs384 => Its::RS384,
        SigningAlgorithm::Rs512 => Its::RS512,
        SigningAlgorithm::Ps256 => Its::PS256,
        SigningAlgorithm::Ps384 => Its::PS384,
        SigningAlgorithm::Ps512 => Its::PS512,
        SigningAlgorithm::Es256 => Its::ES256,
        SigningAlgorithm::Es384 => Its::ES384,
        SigningAlgorithm::EdDsa => Its::EdDSA,
    }
}
