//! Server-level OAuth (reference 1.4).

use std::time::Duration;

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
];

/// How a token is got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantType {
    /// With client id and secret.
    ClientCredentials,
    /// With a refresh token.
    RefreshToken,
}

/// The `oauth` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oauth {
    /// Whether it is used.
    pub enabled: bool,
    /// The token endpoint.
    pub token_url: Setting,
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
}

impl Oauth {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        let token_url = reader.setting("token_url").unwrap_or_else(|| {
            reader.shape("token_url", "is required");
            Setting::new("")
        });
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
        Self {
            enabled: reader.bool("enabled", true),
            token_url,
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
        }
    }
}
