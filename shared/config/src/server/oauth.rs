//! Server-level OAuth (reference 1.4, and beyond it: how the client says who it is).

mod resolved;

use std::time::Duration;

pub use resolved::ResolvedOauth;

use crate::reader::Reader;
use crate::setting::Setting;

/// Every declared field; the others are extras.
pub(crate) const DECLARED: &[&str] = &[
    "enabled",
    "token_url",
    "grant_type",
    "client_id",
    "client_secret",
    "refresh_token",
    "scope",
    "audience",
    "token_field",
    "token_type_field",
    "expires_in_field",
    "default_token_type",
    "refresh_skew_seconds",
    "extra_token_params",
    "token_endpoint_auth_method",
    "private_key",
    "private_key_id",
    "signing_algorithm",
];

/// The fields that are secrets of their own: shown as null, kept when null comes back.
pub(crate) const SECRETS: &[&str] = &["client_secret", "refresh_token", "private_key"];

/// How a token is got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantType {
    /// With what the client proves about itself.
    ClientCredentials,
    /// With a refresh token.
    RefreshToken,
}

/// How the client says at the token endpoint who it is (RFC 8414, `token_endpoint_auth_methods_supported`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    /// Id and secret in the form.
    ClientSecretPost,
    /// Id and secret in the `Authorization` header.
    ClientSecretBasic,
    /// A signed assertion (RFC 7523).
    PrivateKeyJwt,
}

/// How a token is signed (RFC 7518, RFC 8037): an assertion of ours, or a caller's token. Only by a pair of keys: what is signed with
/// a shared secret could be signed by whoever can check it, and what is not signed by anybody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "these are the names of the RFC")]
pub enum SigningAlgorithm {
    #[default]
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

/// The `oauth` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oauth {
    /// Whether it is used.
    pub enabled: bool,
    /// The token endpoint; `None` when it is found by the server's own metadata (RFC 9728, RFC 8414).
    pub token_url: Option<Setting>,
    /// How a token is got.
    pub grant_type: GrantType,
    /// The client's id.
    pub client_id: Option<Setting>,
    /// The client's secret.
    pub client_secret: Option<Setting>,
    /// The first refresh token.
    pub refresh_token: Option<Setting>,
    /// Asked scope.
    pub scope: Option<Setting>,
    /// Asked audience.
    pub audience: Option<Setting>,
    /// Which field of the answer is the token.
    pub token_field: String,
    /// Which field of the answer is its type.
    pub token_type_field: String,
    /// Which field of the answer is its lifetime in seconds.
    pub expires_in_field: String,
    /// The type when the answer has none.
    pub default_token_type: String,
    /// How long before its end a token is renewed; negative values count as 0.
    pub refresh_skew: Duration,
    /// Sent with the token request; reserved names do not replace ours.
    pub extra_token_params: Vec<(String, Setting)>,
    /// How the client says who it is; `None`: by its secret, in the form unless the token server wants it otherwise.
    pub auth_method: Option<AuthMethod>,
    /// The key that signs assertions, in PEM.
    pub private_key: Option<Setting>,
    /// Its id (`kid`), when the token server needs one.
    pub private_key_id: Option<Setting>,
    /// How assertions are signed.
    pub signing_algorithm: SigningAlgorithm,
}

impl AuthMethod {
    const ALL: [(&'static str, Self); 3] = [
        ("client_secret_post", Self::ClientSecretPost),
        ("client_secret_basic", Self::ClientSecretBasic),
        ("private_key_jwt", Self::PrivateKeyJwt),
    ];

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let text = reader.text("token_endpoint_auth_method")?;
        let found = Self::ALL.into_iter().find(|(name, _)| *name == text).map(|(_, method)| method);
        if found.is_none() {
            let rule = "must be 'client_secret_post', 'client_secret_basic' or 'private_key_jwt'";
            reader.rule("token_endpoint_auth_method", rule);
        }
        found
    }

    /// The name of RFC 8414.
    pub fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}

impl SigningAlgorithm {
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

    fn read(reader: &mut Reader<'_>) -> Self {
        let Some(text) = reader.text("signing_algorithm") else { return Self::default() };
        let found = Self::parse(&text);
        if found.is_none() {
            let rule = "must be RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 or EdDSA";
            reader.rule("signing_algorithm", rule);
        }
        found.unwrap_or_default()
    }
}

impl Oauth {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        let grant_type = match reader.text("grant_type").as_deref() {
            None | Some("client_credentials") => GrantType::ClientCredentials,
            Some("refresh_token") => GrantType::RefreshToken,
            Some(_) => {
                reader.rule("grant_type", "must be 'client_credentials' or 'refresh_token'");
                GrantType::ClientCredentials
            }
        };
        let mut named = |key: &str, default: &str| reader.text(key).unwrap_or_else(|| default.to_owned());
        let token_field = named("token_field", "access_token");
        let token_type_field = named("token_type_field", "token_type");
        let expires_in_field = named("expires_in_field", "expires_in");
        let default_token_type = named("default_token_type", "Bearer");
        let skew = reader.integer("refresh_skew_seconds").unwrap_or(60);
        let oauth = Self {
            enabled: reader.bool("enabled", true),
            token_url: reader.setting("token_url").filter(|url| *url != Setting::new("")),
            grant_type,
            client_id: reader.setting("client_id"),
            client_secret: reader.setting("client_secret"),
            refresh_token: reader.setting("refresh_token"),
            scope: reader.setting("scope"),
            audience: reader.setting("audience"),
            token_field,
            token_type_field,
            expires_in_field,
            default_token_type,
            refresh_skew: Duration::from_secs(u64::try_from(skew).unwrap_or(0)),
            extra_token_params: reader.settings("extra_token_params"),
            auth_method: AuthMethod::read(reader),
            private_key: reader.setting("private_key"),
            private_key_id: reader.setting("private_key_id"),
            signing_algorithm: SigningAlgorithm::read(reader),
        };
        for field in oauth.missing() {
            // A warning: the reference parses such a block, and an existing file must go on working.
            reader.warn(field, "is needed for this grant: no token can be got without it");
        }
        oauth
    }

    /// The fields without which no token can be got (reference 5.4), as far as the block alone tells.
    fn missing(&self) -> Vec<&'static str> {
        let absent =
            |setting: &Option<Setting>| setting.as_ref().is_none_or(|given| *given == Setting::new(""));
        let mut missing = Vec::new();
        if self.grant_type == GrantType::RefreshToken && absent(&self.refresh_token) {
            missing.push("refresh_token");
        }
        let by_key = self.auth_method == Some(AuthMethod::PrivateKeyJwt);
        if self.grant_type == GrantType::ClientCredentials || by_key {
            if absent(&self.client_id) {
                missing.push("client_id");
            }
            if by_key && absent(&self.private_key) {
                missing.push("private_key");
            }
            if !by_key && absent(&self.client_secret) {
                missing.push("client_secret");
            }
        }
        missing
    }
}
